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
type SessionSpent = Pick<Ledger, "sub_calls" | "tokens" | "cost_usd" | "time_ms">;

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
        tokens: [input, output, cache_read, cache_write].reduce(spentAfter, ledger.tokens),
        cost_usd: spentAfter(ledger.cost_usd, cost_usd),
      };
    }
    case "rlm_complete":
      if (record.kind === "load" && record.success) return EMPTY_LEDGER;
      return { ...ledger, time_ms: spentAfter(ledger.time_ms, record.time_ms) };
  }
}

/** A question of a person, such as a cell or an ask, with what its execs have spent. */
export interface Question {
  readonly id: string;
  readonly ledger: Ledger;
  /** Limits of its caller for it alone. */
  readonly limits: Partial<BudgetLimits>;
  /** Its newest exec is a workflow. */
  readonly isWorkflow: boolean;
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

function begunBy({ kind, question, workflow }: Start, before: Question | null): Question | null {
  if (!question) return null;
  const { id, budget: limits = {} } = question;
  const ledger = before?.id === id ? before.ledger : EMPTY_LEDGER;
  return { id, limits, isWorkflow: kind === "cell" && workflow !== undefined, ledger };
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
function spentAfter(spent: number, more: number): number {
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

function remaining(ledger: Ledger, limits: BudgetLimits): RemainingBudget {
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

/** The limits that hold in a session. */
export interface BudgetRules {
  /** Since the last load. */
  readonly budget: BudgetLimits;
  /** Those of each question; null: only a call that names limits has a budget of its own. */
  readonly question: BudgetLimits | null;
  /** Those of a question that is a workflow. Absent: they are those of every question. */
  readonly workflow?: BudgetLimits;
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
  const usual = question?.isWorkflow ? (rules.workflow ?? rules.question) : rules.question;
  if (!question || Object.keys(question.limits).length === 0) return usual;
  return lowerOf(usual ?? UNLIMITED, question.limits);
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

/** The least of those that are numbers; undefined: none is. */
function least(...figures: readonly (number | null | undefined)[]): number | undefined {
  const numbers = figures.filter((figure) => typeof figure === "number");
  return numbers.length === 0 ? undefined : Math.min(...numbers);
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
  // An exec that began without a question has no budget beyond the session's whole spending.
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
  return leftOfBoth(rules, { ledger, question: { id: "", ledger: EMPTY_LEDGER, limits: {}, isWorkflow: false } });
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
