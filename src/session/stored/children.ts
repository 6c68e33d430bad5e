import { LIMITS, RlmError, remedy } from "../../../runtime/index.ts";
import { addUsage, NO_USAGE, tokensOf, type Usage } from "../../models/index.ts";
import { displayName } from "../../platform/ids.ts";
import { shellWord } from "../../platform/shell-word.ts";
import type { SessionRow, Store } from "../../store/index.ts";
import { inFlight } from "../exec/interrupted.ts";
import { type AskRecords, EMPTY_ACCOUNT, follow } from "../journal/account.ts";
import { limitsMetBy, limitsMetIn } from "../journal/exec-warnings.ts";
import { ROOT_CALL, treeOf } from "../journal/ledger.ts";
import { type ChildRecord, type EndedBy, readJournal, type ToolResult } from "../journal/records.ts";

/**
 * A child answers one call of its parent, by an ask over a part of P. It is known by its name
 * alone, so whoever answers the call once more finds the child again.
 */
export function childName(parentId: string, callId: string): string {
  return `${parentId}.${callId}`;
}

/**
 * Only the holder of its parent opens or drops a child.
 * @throws RlmError `invalid_argument` for a child
 */
export async function refuseChild(store: Pick<Store, "find">, row: SessionRow): Promise<void> {
  if (row.origin !== "child") return;
  const [parentId = "", ...call] = (row.name ?? "").split(".");
  const root = displayName(await rootOf(store, parentId));
  throw new RlmError("invalid_argument", `session ${row.id} is a child: it answers call ${call.join(".")} of ${root}`, {
    suggestion: `It is resumed, and dropped, with ${root}. To look around in it, ${remedy("fork", shellWord(row.id))}.`,
  });
}

/** The session that no other one's call has made, from the parent of a child upwards. */
async function rootOf(store: Pick<Store, "find">, parentId: string): Promise<Pick<SessionRow, "id" | "name">> {
  let id = parentId;
  for (let level = 0; level < MOST_LEVELS; level++) {
    const row = await store.find(id);
    if (row?.origin !== "child") return row ?? { id, name: null };
    [id = ""] = (row.name ?? "").split(".");
  }
  return { id, name: null };
}

/** More than children may be deep. */
const MOST_LEVELS = 10;

/**
 * The spending of a child so far, whatever became of it: it is charged to the call that it
 * answers.
 */
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
  /**
   * The cause of its ask's cancellation; null: it is open, has ended
   * otherwise, or that is not recorded.
   */
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
  const found = await Promise.all(open.map(({ call_id }) => spentBy(store, childName(row.id, call_id), depth + 1)));
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
    ...limitsOfTree(results, ask),
    depth_reached: below.reduce((deepest, one) => Math.max(deepest, one.depth_reached), tree.depth_reached),
    model: results.findLast(({ name }) => name === ROOT_CALL)?.model ?? "",
    sent_at: results[0]?.sent_at ?? null,
    ended_by: ask?.complete?.ended_by ?? null,
  };
}

/** The limits of its tree that a child met. Its sub-calls, turns and time are those of its call. */
function limitsOfTree(results: readonly ToolResult[], ask: AskRecords | null): Pick<ChildRecord, "limits_met"> {
  const met = [...results.flatMap(limitsMetBy), ...(ask ? (ask.complete?.limits_met ?? limitsMetIn(ask)) : [])];
  const limits_met = [...new Set(met)].filter((limit) => limit === "tokens" || limit === "cost_usd");
  return limits_met.length === 0 ? {} : { limits_met };
}
