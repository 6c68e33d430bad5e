import { least } from "../../platform/figures.ts";
import { type Question, type RemainingBudget, remaining } from "./ledger.ts";
import { type BudgetLimits, EMPTY_LEDGER, type Ledger } from "./records.ts";

/** The limits that hold in a session. */
export interface BudgetRules {
  /** Since the last load. */
  readonly budget: BudgetLimits;
  /** Those of each question; null: only a call that names limits has a budget of its own. */
  readonly question: BudgetLimits | null;
}

/** The spending of the session and of its newest question, as the account of the journal has it. */
export interface Spendings {
  readonly ledger: Ledger;
  readonly question: Question | null;
}

/** No limit: of a session whose questions are limited. */
export const UNLIMITED: BudgetLimits = {
  max_tokens: Number.MAX_SAFE_INTEGER,
  max_sub_calls: Number.MAX_SAFE_INTEGER,
  max_time_ms: Number.MAX_SAFE_INTEGER,
  max_cost_usd: null,
};

/** The limits of the newest question. A record can lower them, and never raises them. null: it has none of its own. */
function limitsOfQuestion(rules: BudgetRules, question: Question | null): BudgetLimits | null {
  if (!question || Object.keys(question.limits).length === 0) return rules.question;
  return lowerOf(rules.question ?? UNLIMITED, question.limits);
}

/** The lower of the session's limits and those of its newest question. */
export function limitsNow(rules: BudgetRules, { question }: Pick<Spendings, "question">): BudgetLimits {
  return lowerOf(rules.budget, limitsOfQuestion(rules, question) ?? {});
}

/** True if more calls are on record than the limits allow: whoever can change a guest, or a row, may make any number. */
export function hasTooManyCalls(rules: BudgetRules, { ledger, question }: Spendings): boolean {
  const own = limitsOfQuestion(rules, question) ?? UNLIMITED;
  return isBeyond(ledger, rules.budget) || isBeyond(question?.ledger ?? ledger, own);
}

function isBeyond({ sub_calls, functions = 0 }: Ledger, { max_sub_calls, max_functions = functions }: BudgetLimits) {
  return sub_calls > max_sub_calls || functions > max_functions;
}

function lowerOf(limits: BudgetLimits, others: Partial<BudgetLimits>): BudgetLimits {
  const functions = least(limits.max_functions, others.max_functions);
  return {
    max_tokens: Math.min(limits.max_tokens, others.max_tokens ?? limits.max_tokens),
    max_sub_calls: Math.min(limits.max_sub_calls, others.max_sub_calls ?? limits.max_sub_calls),
    max_time_ms: Math.min(limits.max_time_ms, others.max_time_ms ?? limits.max_time_ms),
    max_cost_usd: least(limits.max_cost_usd, others.max_cost_usd) ?? null,
    ...(functions === undefined ? {} : { max_functions: functions }),
  };
}

/** Tokens and dollars. */
export type Amount = Pick<Ledger, "tokens" | "cost_usd">;

export const NOTHING: Amount = { tokens: 0, cost_usd: 0 };

export function plus(a: Amount, b: Amount): Amount {
  return { tokens: a.tokens + b.tokens, cost_usd: a.cost_usd + b.cost_usd };
}

export function minus(a: Amount, b: Amount): Amount {
  return { tokens: a.tokens - b.tokens, cost_usd: a.cost_usd - b.cost_usd };
}

/** The rest of each of the two budgets. `question` is null if only the session's holds. @param unsettled what no ledger has yet */
export function leftOfEach(rules: BudgetRules, { ledger, question }: Spendings, unsettled = NOTHING) {
  const own = limitsOfQuestion(rules, question);
  // What began without a question has no budget beyond the session's whole spending.
  const spent = question?.ledger ?? ledger;
  return {
    session: remaining({ ...ledger, ...plus(ledger, unsettled) }, rules.budget),
    question: own && remaining({ ...spent, ...plus(spent, unsettled) }, own),
  };
}

/** The lesser of what the two budgets have left: what may still be spent. */
export function leftOfBoth(rules: BudgetRules, spendings: Spendings, unsettled = NOTHING): RemainingBudget {
  const { session, question } = leftOfEach(rules, spendings, unsettled);
  return question ? lesserOf(session, question) : session;
}

/** The rest of the newest question's budget, as callers are told of it. The session is not limited in all. */
export function leftOfQuestion(limits: BudgetLimits, spendings: Spendings): RemainingBudget {
  const rules = { budget: UNLIMITED, question: limits };
  return toldBudget(leftOfBoth(rules, spendings), rules, spendings);
}

/** The budget of a question that has spent nothing. */
export function leftForNext(rules: BudgetRules, { ledger }: Pick<Spendings, "ledger">): RemainingBudget {
  return leftOfBoth(rules, { ledger, question: { id: "", ledger: EMPTY_LEDGER, limits: {} } });
}

/** A budget as callers are told of it: beside that of a question stands what the session has spent in all. */
export function toldBudget(left: RemainingBudget, rules: BudgetRules, { ledger }: Pick<Spendings, "ledger">) {
  if (!rules.question) return left;
  const { sub_calls, tokens, cost_usd, time_ms } = ledger;
  return { ...left, session: { sub_calls, tokens, cost_usd, time_ms: Math.floor(time_ms) } };
}

function lesserOf(session: RemainingBudget, question: RemainingBudget): RemainingBudget {
  const cost_usd = least(session.remaining_cost_usd, question.remaining_cost_usd);
  const functions = least(session.remaining_functions, question.remaining_functions);
  return {
    remaining_tokens: Math.min(session.remaining_tokens, question.remaining_tokens),
    remaining_sub_calls: Math.min(session.remaining_sub_calls, question.remaining_sub_calls),
    remaining_time_ms: Math.min(session.remaining_time_ms, question.remaining_time_ms),
    ...(functions === undefined || session.remaining_functions === undefined ? {} : { remaining_functions: functions }),
    ...(cost_usd === undefined ? {} : { remaining_cost_usd: cost_usd }),
  };
}
