import { RlmError } from "../../../runtime/index.ts";
import type { Session } from "../../session/index.ts";
import type { PiActions } from "../host.ts";
import type { Run } from "../runs/runs.ts";
import type { StartEntry } from "./entries.ts";
import type { BranchSessions } from "./sessions.ts";

/**
 * The session in which an ask is open, as it is, if the call asks the same question: the ask then goes on, and an entry says
 * that it is this call's now. null if the call is another one, or if the session cannot be had.
 */
export async function askedAgain(
  sessions: Pick<BranchSessions, "interrupted">,
  openAsk: StartEntry,
  { tool, tool_call_id, args }: Pick<Run, "tool" | "tool_call_id" | "args">,
  actions: Pick<PiActions, "appendEntry">,
): Promise<Session | null> {
  if (tool.name !== "rlm_ask" || typeof args !== "object" || args === null) return null;
  const session = await sessions.interrupted(openAsk.session).catch((error: unknown) => {
    if (error instanceof RlmError) return null;
    throw error;
  });
  const open = session?.unfinished();
  if (!session || open?.exec_id !== openAsk.exec_id || open.input !== Reflect.get(args, "question")) return null;
  actions.appendEntry("rlm_start", { ...openAsk, tool_call_id });
  return session;
}
