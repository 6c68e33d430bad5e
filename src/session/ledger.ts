import type { DEFAULT_BUDGET } from "../../runtime/index.ts";
import type { JournalRecord } from "./journal.ts";

export type BudgetLimits = typeof DEFAULT_BUDGET;

/** What a session has spent since its last load: a fold over its journal. */
export interface Ledger {
  readonly sub_calls: number;
  readonly tokens: number;
  /** ms of wall time inside execs. */
  readonly time_ms: number;
}

/** The remaining budget as the envelope shows it (spec §3.3). */
export interface RemainingBudget {
  remaining_tokens: number;
  remaining_sub_calls: number;
  remaining_time_ms: number;
}

export const EMPTY_LEDGER: Ledger = { sub_calls: 0, tokens: 0, time_ms: 0 };

/** The ledger after one more record: a load that succeeded begins anew. */
export function spend(ledger: Ledger, record: JournalRecord): Ledger {
  switch (record.record) {
    case "rlm_tool_call":
      return { ...ledger, sub_calls: ledger.sub_calls + 1 };
    case "rlm_complete":
      if (record.kind === "load" && record.success) return EMPTY_LEDGER;
      return { ...ledger, time_ms: ledger.time_ms + record.time_ms };
    default:
      return ledger;
  }
}

export function remaining(ledger: Ledger, limits: BudgetLimits): RemainingBudget {
  return {
    remaining_tokens: Math.max(0, limits.max_tokens - ledger.tokens),
    remaining_sub_calls: Math.max(0, limits.max_sub_calls - ledger.sub_calls),
    remaining_time_ms: Math.max(0, Math.floor(limits.max_time_ms - ledger.time_ms)),
  };
}
