import type { ExecRecords } from "../journal/exec-records.ts";
import { ROOT_CALL } from "../journal/ledger.ts";
import type { ToolResult } from "../journal/records.ts";
import type { Setup } from "../setup.ts";
import { elapsedIn, inFlight } from "./interrupted.ts";
import { resultOf } from "./work.ts";

/** Ends the children of an exec's open calls. Answers the records of these calls: what the children have spent is charged. */
export async function giveUpCalls(
  { answers, env }: Pick<Setup, "answers" | "env">,
  records: ExecRecords,
): Promise<ToolResult[]> {
  const open = new Set(inFlight(records));
  const elapsed_ms = elapsedIn(records, null);
  const charged: ToolResult[] = [];
  for (const { exec_id, call_id: id, name, args } of records.calls) {
    const given = open.has(id) && name !== ROOT_CALL ? await answers.discard?.({ id, name, args }) : null;
    if (given) charged.push(resultOf({ id, name }, given, { exec_id, elapsed_ms, at: env.clock.now() }));
  }
  return charged;
}
