import { LIMITS } from "../../../runtime/index.ts";
import { addUsage, NO_USAGE, tokensOf, type Usage } from "../../model/index.ts";
import type { Store } from "../../store/index.ts";
import { inFlight } from "../exec/interrupted.ts";
import { EMPTY_ACCOUNT, follow } from "../journal/account.ts";
import { ROOT_CALL, treeOf } from "../journal/ledger.ts";
import { type ChildRecord, type EndedBy, readJournal } from "../journal/records.ts";
import { childName } from "./children.ts";

/** The spending of a child so far, whatever became of it: it is charged to the call that it answers. */
export interface Spent extends ChildRecord {
  /** Its own turns and sub-calls, and all that its children have spent. */
  readonly usage: Usage;
  readonly tokens: number;
  readonly cost_usd: number;
  /** Wall time inside its execs, ms. */
  readonly time_ms: number;
  /** The model of its turns, `provider/id`; empty before the first. */
  readonly model: string;
  /** When its first request left, ms since the epoch; null: none has, or that is not recorded. */
  readonly sent_at: number | null;
  /** The cause of its ask's cancellation; null: it is open, has ended otherwise, or that is not recorded. */
  readonly ended_by: EndedBy | null;
}

/**
 * By the journal of the child of this name and this depth; null if it was not made.
 * @throws RlmError of the store
 */
export async function spentBy(
  store: Pick<Store, "find" | "journal">,
  name: string,
  depth: number,
): Promise<Spent | null> {
  const row = await store.find(name);
  if (row?.origin !== "child" || depth > LIMITS.maxDepth) return null;
  const records = await readJournal(store, row.id);
  const { ledger, last, ask } = records.reduce(follow, EMPTY_ACCOUNT);
  const results = records.flatMap((record) => (record.record === "rlm_tool_result" ? [record] : []));
  // Each may have a child, whose spending no record of its parent has yet.
  const open = last && last.start.kind !== "turn" ? inFlight(last) : [];
  const found = await Promise.all(open.map((callId) => spentBy(store, childName(row.id, callId), depth + 1)));
  const below = found.filter((one) => one !== null);
  const usage = [...results, ...below].reduce((sum, one) => addUsage(sum, one.usage), NO_USAGE);
  const tree = treeOf([{ results }], depth);
  return {
    session: row.id,
    usage,
    tokens: tokensOf(usage),
    cost_usd: usage.cost_usd,
    // If a call was given up, what was allotted to it and not used no longer counts.
    sub_calls: below.reduce((sum, one) => sum + one.sub_calls, tree.sub_calls + found.length),
    turns: records.filter((record) => record.record === "rlm_start" && record.kind === "turn").length,
    time_ms: ledger.time_ms,
    depth_reached: below.reduce((deepest, one) => Math.max(deepest, one.depth_reached), tree.depth_reached),
    model: results.findLast(({ name }) => name === ROOT_CALL)?.model ?? "",
    sent_at: results[0]?.sent_at ?? null,
    ended_by: ask?.complete?.ended_by ?? null,
  };
}
