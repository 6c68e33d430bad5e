import type { Json } from "../../runtime/index.ts";
import type { CallDescription, ExecDescription, SessionDescription } from "./api.ts";

/** Lengths that texts may have, UTF-16 units. */
export interface TextBounds {
  /** A longer text keeps three quarters of this from its beginning, and a quarter from its end. */
  readonly each: number;
  /**
   * All texts of a session together. If they are longer, those of the oldest
   * calls and execs keep `little`.
   */
  readonly all: number;
  readonly little: number;
}

const TEXT_BOUNDS: TextBounds = { each: 64 * 1024, all: 32 * 2 ** 20, little: 200 };

/**
 * A session whose texts are bounded. Fields keep their names: a text that was cut says so, and
 * `cut` of its exec or call has the number of characters that it had. Calls that failed stay
 * whole as long as each of their texts fits.
 */
export function withBoundedTexts(session: SessionDescription, bounds: TextBounds = TEXT_BOUNDS): SessionDescription {
  const budget = { left: bounds.all };
  return boundedSession(session, bounds, budget);
}

/** A value of more JSON than this many bounded texts is left out: null stands for it. */
const LONGEST_VALUE = 16;

/** The rest of `all`. The newest texts take from it first. */
interface Budget {
  left: number;
}

function boundedSession(session: SessionDescription, bounds: TextBounds, budget: Budget): SessionDescription {
  const execs = session.execs.toReversed().map((exec) => boundedExec(exec, bounds, budget));
  return { ...session, execs: execs.toReversed() };
}

function boundedExec(exec: ExecDescription, bounds: TextBounds, budget: Budget): ExecDescription {
  const { source, stdout, stderr, result_json, error, ask, turn, coverage } = exec;
  const bound = openBound(bounds, budget, false);
  const bounded = {
    ...exec,
    input: bound.text("input", exec.input),
    source: bound("source", source),
    stdout: bound.text("stdout", stdout),
    stderr: bound.text("stderr", stderr),
    result_json: bound("result_json", result_json),
    error: error === null ? null : bound.text("error", error),
    coverage: coverage && bound("coverage", coverage.ranges) === null ? null : coverage,
    ask: ask && { ...ask, question: bound.text("question", ask.question), answer: bound("answer", ask.answer) },
    turn: turn && {
      ...turn,
      messages: turn.messages.map((message, at) => bound.text(`messages[${at}]`, message)),
      text: bound.text("text", turn.text),
    },
  };
  const calls = exec.calls.toReversed().map((call) => boundedCall(call, bounds, budget));
  return { ...bounded, calls: calls.toReversed(), ...bound.cut() };
}

function boundedCall(call: CallDescription, bounds: TextBounds, budget: Budget): CallDescription {
  const { prompt, args, answer, misfit, child, status } = call;
  const bound = openBound(bounds, budget, status === "failed");
  const bounded = {
    ...call,
    answer: bound("answer", answer),
    misfit: misfit === null ? null : bound.text("misfit", misfit),
    prompt: prompt === null ? null : bound.text("prompt", prompt),
    args: args.map((arg, at) => bound(`args[${at}]`, arg)),
    child: child?.description ? { ...child, description: boundedSession(child.description, bounds, budget) } : child,
  };
  return { ...bounded, ...bound.cut() };
}

/**
 * Bounds the texts of one exec or call, and gathers which it has cut.
 * @param isKept they are not cut because of others
 */
function openBound({ each, little }: TextBounds, budget: Budget, isKept: boolean) {
  const cut: Record<string, number> = {};
  const most = budget.left > 0 || isKept ? each : little;

  function text(field: string, whole: string): string {
    const bounded = boundedText(whole, most);
    budget.left -= bounded.length;
    if (bounded !== whole) cut[field] = whole.length;
    return bounded;
  }

  function bound(field: string, value: Json): Json {
    if (typeof value === "string") return text(field, value);
    if (typeof value !== "object" || value === null) return value;
    const json = JSON.stringify(value);
    if (json.length <= most) {
      budget.left -= json.length;
      return value;
    }
    const bounded = boundedIn(value, most);
    const units = JSON.stringify(bounded).length;
    const isFit = units <= most * LONGEST_VALUE;
    budget.left -= isFit ? units : 0;
    if (!isFit || units !== json.length) cut[field] = json.length;
    return isFit ? bounded : null;
  }

  return Object.assign(bound, { text, cut: () => (Object.keys(cut).length > 0 ? { cut } : {}) });
}

/** The value with its texts bounded. */
function boundedIn(value: Json, most: number): Json {
  if (typeof value === "string") return boundedText(value, most);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => boundedIn(item, most));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, boundedIn(item, most)]));
}

function boundedText(text: string, most: number): string {
  if (text.length <= most) return text;
  const first = text.slice(0, Math.ceil((most * 3) / 4));
  const last = text.slice(-Math.floor(most / 4));
  const out = text.length - first.length - last.length;
  return `${first.replace(/[\uD800-\uDBFF]$/, "")}\n[… ${out} characters are left out …]\n${last.replace(/^[\uDC00-\uDFFF]/, "")}`;
}
