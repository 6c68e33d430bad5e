import { type CallDescription, describeWhole, type SessionDescription } from "../history/index.ts";
import { type AgentCommand, isAgentModel, type Untold, untoldBy } from "../platform/agent-commands.ts";
import { isRecord } from "../platform/json.ts";
import type { Store } from "../store/index.ts";
import { scoreOf } from "./scores.ts";
import type { Item } from "./suites.ts";

/**
 * Belay's own methods to answer a question: an ask, one prompt with the context, one with its best
 * passages. In the report's order.
 */
export const METHODS = ["ask", "direct", "bm25"] as const;
/** One of Belay's own, or the name of an agent of the user's. */
export type Method = string;

/**
 * Tokens of passages, those that stay free for question and answer, and characters of a token at
 * the least: no prompt is refused.
 */
const PASSAGES_TOKENS = 16_000;
const FREE_TOKENS = 8_192;
const UNITS_A_TOKEN = 3;

/** Characters of text in a prompt. @param window tokens of the model */
export function roomOf(method: Method, window: number): number {
  const tokens = Math.max(Math.floor(window / 2), window - FREE_TOKENS);
  return UNITS_A_TOKEN * (method === "bm25" ? Math.min(PASSAGES_TOKENS, tokens) : tokens);
}

/**
 * A job of the run as far as it has come; null: it has not begun. `result` is what its cell gave.
 */
export type JobEnd = {
  readonly status: string;
  readonly error_code: string | null;
  readonly session: string;
  readonly result: Readonly<Partial<Record<"answer" | "no_answer" | "cites" | "cited", unknown>>> | null;
} | null;

/** A line of results.jsonl: one question, answered by one method. */
export interface EvalRow extends Figures, Pick<Item, "suite" | "size" | "expected"> {
  readonly item: string;
  readonly method: Method;
  readonly status: string;
  readonly error_code: string | null;
  readonly session: string | null;
  readonly answer: string | null;
  /** 0 to 1; null: the job is not done, and does not count. */
  readonly score: number | null;
  /** True if the answer is not of the form that was asked for. It scores 0. */
  readonly misformed: boolean;
  /** The code with which the model came to no answer, which scores 0. */
  readonly no_answer: string | null;
  /** Figures that its agent does not tell: the row has the most that an answer may take. */
  readonly untold: readonly Untold[];
}

/**
 * @param figures null: the journal of the job is gone, or it has none
 * @param agent the user's agent that answered; null: a method of Belay's own
 */
export function rowOf(
  item: Item,
  method: Method,
  end: JobEnd,
  figures: Figures | null,
  agent: AgentCommand | null = null,
): EvalRow {
  const { id, suite, size, expected, score } = item;
  const { result = null, status = "not over", error_code = null, session = null } = end ?? {};
  const answer = typeof result?.answer === "string" ? result.answer : null;
  const found = answer === null ? 0 : scoreOf(score, answer, expected);
  return {
    item: id,
    suite,
    size,
    method,
    status,
    error_code,
    session,
    expected,
    answer,
    score: result === null ? null : (found ?? 0),
    misformed: found === null,
    no_answer: result !== null && answer === null ? String(result.no_answer) : null,
    untold: agent === null ? [] : untoldBy(agent),
    ...(figures ?? NO_FIGURES),
    ...(typeof result?.cites === "number" ? { cites: result.cites, cited: Number(result.cited) } : {}),
  };
}

/** The spending and the work of a job, by its journal and those of its children. */
interface Figures {
  readonly cost_usd: number;
  readonly tokens_in: number;
  readonly tokens_cached: number;
  readonly tokens_out: number;
  readonly calls: number;
  readonly refused: number;
  readonly depth: number;
  readonly ms: number;
  readonly resumes: number;
  /** The share of P that a model was shown, at the least; null: it is not known. */
  readonly coverage: number | null;
  /** Places that the answer names as its sources, and those of them that are in P; null: it names none. */
  readonly cites: number | null;
  readonly cited: number | null;
  /** Files of its context that should have text and could not be read. */
  readonly unread: number;
}

/** @throws RlmError of the store, `session_not_found` */
export async function figuresOf(store: Store, session: string): Promise<Figures> {
  const { session: told } = await describeWhole(store, session, { children: CHILDREN, partly: true });
  const calls = told.execs.flatMap((exec) => exec.calls);
  const requests = requestsOf(told);
  const child = calls.find((call) => call.child)?.child?.session;
  // The call of an ask gives all of P to its child: the child's journal has what its models were
  // shown.
  const asked = child === undefined ? told : (await describeWhole(store, child, { partly: true })).session;
  const isOfAgent = calls.some(({ model }) => isAgentModel(model));
  const coverage = isOfAgent ? null : asked.coverage;
  const citations = asked.execs.findLast(({ ask }) => ask !== null)?.ask?.citations ?? null;
  const sum = (of: (call: CallDescription) => number) => calls.reduce((total, call) => total + of(call), 0);
  return {
    cost_usd: sum(({ usage }) => usage.cost_usd),
    tokens_in: sum(({ usage }) => usage.input + usage.cache_read + usage.cache_write),
    tokens_cached: sum(({ usage }) => usage.cache_read),
    tokens_out: sum(({ usage }) => usage.output),
    calls: requests.filter((call) => !call.refused && !call.cached).length,
    refused: requests.filter((call) => call.refused).length,
    depth: Math.max(0, ...calls.map((call) => call.child?.depth_reached ?? 0)),
    ms: told.execs.reduce((total, { time_ms }) => total + Math.round(time_ms ?? 0), 0),
    resumes: told.execs.reduce((total, { resumed }) => total + resumed, 0),
    coverage: coverage && coverage.chars > 0 ? coverage.shown / coverage.chars : null,
    cites: citations?.length ?? null,
    cited: citations?.filter((one) => isRecord(one) && one.valid === true).length ?? null,
    unread: told.skipped?.unread ?? 0,
  };
}

const CHILDREN = 1000;

/**
 * The calls of a session and of its children, turns among them, without those that a child answers.
 */
const requestsOf = ({ execs }: SessionDescription): CallDescription[] =>
  execs.flatMap(({ calls }) =>
    calls.flatMap((call) => (call.child?.description ? requestsOf(call.child.description) : [call])),
  );

const NONE = { cost_usd: 0, tokens_in: 0, tokens_cached: 0, tokens_out: 0, calls: 0, refused: 0, depth: 0, ms: 0 };
const NO_FIGURES: Figures = { ...NONE, resumes: 0, coverage: null, cites: null, cited: null, unread: 0 };
