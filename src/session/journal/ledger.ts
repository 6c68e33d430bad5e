import type { JournalRecord } from "./records.ts";

/** What a session may spend since its last load. */
export interface BudgetLimits {
  readonly max_tokens: number;
  readonly max_sub_calls: number;
  readonly max_time_ms: number;
  /** USD by the models' price lists; null: no limit. */
  readonly max_cost_usd: number | null;
}

/** What a session has spent since its last load: a fold over its journal. */
export interface Ledger {
  readonly sub_calls: number;
  /** Input and output, cache reads and writes included. */
  readonly tokens: number;
  readonly cost_usd: number;
  /** ms of wall time inside execs. */
  readonly time_ms: number;
}

/** The remaining budget as the envelope shows it (spec §3.3). */
export interface RemainingBudget {
  remaining_tokens: number;
  remaining_sub_calls: number;
  remaining_time_ms: number;
  /** Only present if there is a limit. */
  remaining_cost_usd?: number;
}

export const EMPTY_LEDGER: Ledger = { sub_calls: 0, tokens: 0, cost_usd: 0, time_ms: 0 };

/** The name of the call that a turn makes: the request to the root model of an ask. */
export const ROOT_CALL = "root";

/** The ledger after one more record: a load that succeeded begins anew. */
export function spend(ledger: Ledger, record: JournalRecord): Ledger {
  switch (record.record) {
    case "rlm_start":
    case "rlm_resume":
      return ledger;
    case "rlm_tool_call":
      // A turn of a root model is not a sub-call.
      if (record.name === ROOT_CALL) return ledger;
      return { ...ledger, sub_calls: ledger.sub_calls + 1 };
    case "rlm_tool_result": {
      const { input, output, cache_read, cache_write, cost_usd } = record.usage;
      return {
        ...ledger,
        // Nothing was sent for it.
        sub_calls: Math.max(0, ledger.sub_calls - (record.refused || record.cached ? 1 : 0)),
        tokens: [input, output, cache_read, cache_write].reduce(plus, ledger.tokens),
        cost_usd: plus(ledger.cost_usd, cost_usd),
      };
    }
    case "rlm_complete":
      if (record.kind === "load" && record.success) return EMPTY_LEDGER;
      return { ...ledger, time_ms: plus(ledger.time_ms, record.time_ms) };
  }
}

/** Another user may have written the store: a negative figure in a record must not raise the budget. */
function plus(spent: number, more: number): number {
  return more > 0 ? spent + more : spent;
}

export function remaining(ledger: Ledger, limits: BudgetLimits): RemainingBudget {
  const left = (limit: number, spent: number) => Math.max(0, limit - spent);
  return {
    remaining_tokens: left(limits.max_tokens, ledger.tokens),
    remaining_sub_calls: left(limits.max_sub_calls, ledger.sub_calls),
    remaining_time_ms: Math.floor(left(limits.max_time_ms, ledger.time_ms)),
    ...(limits.max_cost_usd === null ? {} : { remaining_cost_usd: left(limits.max_cost_usd, ledger.cost_usd) }),
  };
}
