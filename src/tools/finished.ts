import type { Session } from "../session/index.ts";
import type { Signals, Tool, ToolEnvelope } from "./define.ts";
import { askAnswer } from "./rlm_ask.ts";

/** Finishes what was interrupted, as an answer of the tool that is asked. */
export async function finished(session: Session, tool: Tool, args: unknown, signals: Signals): Promise<ToolEnvelope> {
  const resumed = await session.resume(signals);
  if (resumed?.kind === "ask") return askAnswer(resumed.envelope);
  const { envelope = null } = resumed ?? {};
  if (envelope) return { success: envelope.success, ...JSON.parse(JSON.stringify(envelope)) };
  const record = { envelope: null, query: null, input: null, before: { memory: {}, helpers: [] }, ingested: null };
  const answer = await tool.recorded(args, { ...record, stats: session.stats() });
  return answer ?? { success: true, kind: resumed?.kind ?? null };
}
