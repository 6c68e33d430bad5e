import { jsonOf } from "../platform/json.ts";
import type { Session } from "../session/index.ts";
import { NOTHING_RECORDED, type Signals, type Tool, type ToolEnvelope } from "./define.ts";
import { askAnswer } from "./rlm_ask.ts";

/** Finishes what was interrupted, as an answer of the tool that is asked. */
export async function finished(session: Session, tool: Tool, args: unknown, signals: Signals): Promise<ToolEnvelope> {
  const resumed = await session.resume(signals);
  if (resumed?.kind === "ask") return askAnswer(resumed.envelope);
  const { envelope = null } = resumed ?? {};
  if (envelope) return { success: envelope.success, ...jsonOf(envelope) };
  const answer = await tool.recorded(args, { ...NOTHING_RECORDED, stats: session.stats() });
  return answer ?? { success: true, kind: resumed?.kind ?? null };
}
