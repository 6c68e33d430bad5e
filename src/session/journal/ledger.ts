import { LIMITS } from "../../../runtime/index.ts";
import type { ExecRecords } from "./exec-records.ts";
import {
  type BudgetLimits,
  EMPTY_LEDGER,
  type JournalRecord,
  type Ledger,
  type Start,
  type ToolCall,
  type ToolResult,
} from "./records.ts";

/** The remaining budget as the envelope shows it (spec §3.3). */
export interface RemainingBudget {
  remaining_tokens: number;
  remaining_sub_calls: number;
  remaining_time_ms: number;
  /** Only present if there is a limit. */
  remaining_cost_usd?: number;
  /** Calls of functions; only present if the program lends some. */
  remaining_functions?: number;
  /** The session's spending since its last load; only present if the budget is that of a question. */
  session?: SessionSpent;
}

/** The total spending of a session. */
export type SessionSpent = Pick<Ledger, "sub_calls" | "tokens" | "cost_usd" | "time_ms">;

/** The name of the call that a turn makes: the request to the root model of an ask. */
export const ROOT_CALL = "root";

/** True for a call that asks a model on behalf of a cell: no turn of a root model, and no function of the program. */
export const isSubCall = (name: string) => name !== ROOT_CALL && !isFunctionCall(name);

export const isFunctionCall = (name: string) => functionOf(name) !== null;

/** The function of the program that a call of this name runs; null: it is another call. */
export const functionOf = (name: string) => /^functions\.(.+)$/.exec(name)?.[1] ?? null;

/**
 * The ledger after one more record: a load that succeeded begins anew.
 * @param call the one that a result belongs to; a call that counts as one need not be given
 */
export function spend(ledger: Ledger, record: JournalRecord, call?: Pick<ToolCall, "counts">): Ledger {
  switch (record.record) {
    case "rlm_start":
    case "rlm_resume":
    case "rlm_suspend":
    case "rlm_run":
      return ledger;
    case "rlm_tool_call":
      if (isFunctionCall(record.name)) return { ...ledger, functions: (ledger.functions ?? 0) + 1 };
      return { ...ledger, sub_calls: ledger.sub_calls + countOf(record) };
    case "rlm_tool_result": {
      if (isFunctionCall(record.name)) return ledger;
      const { input, output, cache_read, cache_write, cost_usd } = record.usage;
      return {
        ...ledger,
        sub_calls: Math.max(0, ledger.sub_calls - countOf({ ...call, name: record.name }) + subCallsOf(record)),
        tokens: [input, output, cache_read, cache_write].reduce(plus, ledger.tokens),
        cost_usd: plus(ledger.cost_usd, cost_usd),
      };
    }
    case "rlm_complete":
      if (record.kind === "load" && record.success) return EMPTY_LEDGER;
      return { ...ledger, time_ms: plus(ledger.time_ms, record.time_ms) };
  }
}

/** A question of a person, such as a cell or an ask, with what its execs have spent. */
export interface Question {
  readonly id: string;
  readonly ledger: Ledger;
  /** Limits of its caller for it alone. */
  readonly limits: Partial<BudgetLimits>;
}

/**
 * The newest question after one more record: an exec of a caller that names another one begins it. A load does not renew its budget.
 * @returns null if the newest exec of a caller spends the session's budget alone
 */
export function questionAfter(
  before: Question | null,
  record: JournalRecord,
  call?: Pick<ToolCall, "counts">,
): Question | null {
  if (record.record === "rlm_start") return isAsked(record) ? begunBy(record, before) : before;
  const isLoad = record.record === "rlm_complete" && record.kind === "load";
  if (!before || isLoad) return before;
  return { ...before, ledger: spend(before.ledger, record, call) };
}

const ASKED_KINDS: ReadonlySet<string> = new Set(["cell", "query", "ask"]);

/** True for what a person can ask for. Turns and cells of an ask belong to its question. */
const isAsked = ({ kind, ask }: Start) => ask === undefined && ASKED_KINDS.has(kind);

function begunBy({ question }: Start, before: Question | null): Question | null {
  if (!question) return null;
  const { id, budget: limits = {} } = question;
  return { id, limits, ledger: before?.id === id ? before.ledger : EMPTY_LEDGER };
}

/** The number of sub-calls that a call counts as while it is open. */
function countOf({ name, counts = 1 }: Pick<ToolCall, "name" | "counts">): number {
  return isSubCall(name) ? 1 + allotted(counts - 1) : 0;
}

/** Sub-calls that an answered call came to: itself unless nothing was sent for it, and those of its child. */
export function subCallsOf({ name, refused, cached, child }: ToolResult): number {
  if (!isSubCall(name) || refused || cached) return 0;
  return 1 + allotted(child?.sub_calls ?? 0);
}

/** Sub-calls of a child, as far as any call can allot them: another user may have written the store. */
const allotted = (sub_calls: number) => Math.min(Math.max(0, Math.floor(sub_calls)), LIMITS.childSubCalls);

/** Another user may have written the store: a negative figure in a record must not raise the budget. */
function plus(spent: number, more: number): number {
  return more > 0 ? spent + more : spent;
}

/** The answered sub-calls of some execs. @param depth of the session that ran the execs */
export function treeOf(execs: readonly Pick<ExecRecords, "results">[], depth: number) {
  const results = execs.flatMap((exec) => exec.results);
  const children = results.flatMap(({ child }) => (child ? [child] : []));
  return {
    /** Sub-calls of the execs and of all children below. */
    sub_calls: results.reduce((sum, result) => sum + subCallsOf(result), 0),
    /** Children of the execs themselves. */
    children: children.length,
    /** Depth of the deepest session that was reached. */
    depth_reached: children.reduce((deepest, { depth_reached }) => Math.max(deepest, depth_reached), depth),
  };
}

export function remaining(ledger: Ledger, limits: BudgetLimits): RemainingBudget {
  const { max_functions: functions, max_cost_usd: dollars } = limits;
  const left = (limit: number, spent: number) => Math.max(0, limit - spent);
  return {
    remaining_tokens: left(limits.max_tokens, ledger.tokens),
    remaining_sub_calls: left(limits.max_sub_calls, ledger.sub_calls),
    remaining_time_ms: Math.floor(left(limits.max_time_ms, ledger.time_ms)),
    ...(functions === undefined ? {} : { remaining_functions: left(functions, ledger.functions ?? 0) }),
    ...(dollars === null ? {} : { remaining_cost_usd: left(dollars, ledger.cost_usd) }),
  };
}
