import * as v from "valibot";
import { remedy } from "../../../runtime/index.ts";
import type { BudgetLimit } from "../../models/index.ts";
import type { AskRecords } from "./account.ts";
import type { RemainingBudget } from "./ledger.ts";
import type { AskLimit, ToolResult } from "./records.ts";

/** The warning of an exec in which a limit of the budget was met. Builtins write the same. */
export const limitWarning = (limit: AskLimit): string => `limit_met: ${limit}`;

/** Follows the name of a limit that is one of the session in all, and not of its question. */
export const IN_ALL = ` of the session; ${remedy("renewSession")}`;

/** The limit that a warning of an exec names; null: it is another warning. */
export function limitIn(warning: string): BudgetLimit | null {
  const [, name] = /^limit_met: (\w+)/.exec(warning) ?? [];
  return BUDGET_LIMITS.find((limit) => limit === name) ?? null;
}

const BUDGET_LIMITS = ["tokens", "sub_calls", "time_ms", "cost_usd", "functions"] as const;

/** The limits that an ask can meet. */
export const ASK_LIMITS = [...BUDGET_LIMITS, "turns"] as const;

/** The limits that a call met, and those of the tree that its child met. */
export function limitsMetBy({ limit_met, child }: Pick<ToolResult, "limit_met" | "child">): readonly AskLimit[] {
  return [...(limit_met === undefined ? [] : [limit_met]), ...(child?.limits_met ?? [])];
}

/** True if the session in all has less left than its question. */
export function isScarcer(limit: BudgetLimit, session: RemainingBudget, question: RemainingBudget): boolean {
  const key = `remaining_${limit}` as const;
  return (session[key] ?? Number.POSITIVE_INFINITY) < (question[key] ?? Number.POSITIVE_INFINITY);
}

/** The limits that an ask has met so far, each once, by the records of its turns and cells. */
export function limitsMetIn({ execs }: Pick<AskRecords, "execs">): readonly AskLimit[] {
  const ofCalls = execs.flatMap(({ results }) => results.flatMap(limitsMetBy));
  const ofTurns = execs.flatMap(({ start }) => (start.kind === "turn" ? v.parse(Turn, start.input).limits : []));
  const ofCells = execs.flatMap(({ complete }) => (complete?.state?.warnings ?? []).map(limitIn));
  return [...new Set([...ofCalls, ...ofTurns, ...ofCells.filter((limit) => limit !== null)])];
}

/** Another user may have written the store: what cannot be read is no limit. */
const Turn = v.fallback(v.object({ limits: v.array(v.picklist(ASK_LIMITS)) }), { limits: [] });
