import type { AgentOutput } from "../../platform/agent-commands.ts";
import { fieldOf, isList, isNumber, readJson, type WrittenJson } from "../../platform/written-json.ts";
import { type StopMeaning, stopMeaning } from "../replies/stop-meaning.ts";

/** The answer of an agent, read from what it printed. */
export interface AgentAnswer {
  /** A text, or the JSON of a value, whose numbers have the digits that were printed. */
  readonly text: string;
  readonly isValue: boolean;
  /** It says that it has failed: `text` says why. */
  readonly failed: boolean;
  /** Tokens. null: it does not say. */
  readonly tokens: TokensUsed | null;
  /** null: it does not say. */
  readonly cost_usd: number | null;
  /** The reason to stop that stands beside it, and what that means. Absent: there is none. */
  readonly stopped?: { readonly reason: string; readonly meaning: StopMeaning };
  /** The last of its lines ends within a value. */
  readonly isBrokenOff?: true;
  /** Its lines ended without what it took. */
  readonly isUnended?: true;
}

interface TokensUsed {
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write: number;
}

/**
 * Reads what an agent has printed, as its command describes it.
 *
 * @param printed its standard output
 * @returns null if there is no whole answer in it
 */
export function readAnswer(rule: AgentOutput | undefined, printed: string): AgentAnswer | null {
  const nothingSaid = { isValue: false, failed: false, tokens: null, cost_usd: null };
  if (!rule) return { ...nothingSaid, text: printed.trim() };
  if (rule.lines) return answerInLines(rule, printed);
  for (const value of wholeValues(printed)) {
    const answer = answerIn(rule, [value]);
    if (answer) return answer;
  }
  return null;
}

/**
 * The answer in JSON lines, whose end tells what it took. If an event of a failure ends them
 * instead, the agent has failed.
 */
function answerInLines(rule: AgentOutput, printed: string): AgentAnswer | null {
  const lines = printed.trimEnd().split("\n");
  const values = lines.flatMap((line) => jsonIn(line) ?? []);
  const answer = answerIn(rule, values);
  const last = lines.at(-1)?.trim() ?? "";
  const isBrokenOff = last.startsWith("{") && jsonIn(last) === undefined;
  if (!answer || answer.failed) return answer;
  if (isBrokenOff) return { ...answer, isBrokenOff };
  const tellsTokens = rule.input !== undefined || rule.output !== undefined;
  if (!tellsTokens || answer.tokens !== null) return answer;
  const error = errorIn(values.at(-1));
  return error === undefined
    ? { ...answer, isUnended: true }
    : { ...answer, failed: true, isValue: false, text: error };
}

/**
 * The words of an event that says by its type that something has failed; undefined: it does not.
 */
function errorIn(event: WrittenJson | undefined): string | undefined {
  const type = event === undefined ? undefined : fieldOf(event, "type");
  if (event === undefined || typeof type !== "string" || !/error|failed/i.test(type)) return undefined;
  const error = fieldOf(event, "error") ?? event;
  const told = fieldOf(error, "message") ?? fieldOf(event, "message") ?? error;
  return typeof told === "string" ? told : JSON.stringify(told);
}

function answerIn(rule: AgentOutput, values: readonly WrittenJson[]): AgentAnswer | null {
  // A later value counts: agents print more than once what they took so far.
  const lastOf = (pointer: string | undefined): Found | undefined =>
    pointer === undefined ? undefined : values.flatMap((value) => foundAt(value, pointer) ?? []).at(-1);
  const at = (pointer: string | undefined) => lastOf(pointer)?.value;
  const number = (pointer: string | undefined): number | null => {
    const found = at(pointer);
    const figure = isNumber(found) ? Number(JSON.stringify(found)) : Number.NaN;
    return Number.isFinite(figure) && figure >= 0 ? figure : null;
  };
  const found = lastOf(rule.value);
  const said = lastOf(rule.text);
  const value = found?.value;
  const error = at(rule.error);
  const text = error ?? said?.value;
  const failed = error !== undefined || at(rule.failed) === true;
  if (value === undefined && text === undefined && !failed) return null;
  const input = number(rule.input);
  const output = number(rule.output);
  const tokens = {
    input: input ?? 0,
    output: output ?? 0,
    cache_read: number(rule.cache_read) ?? 0,
    cache_write: number(rule.cache_write) ?? 0,
  };
  const isText = value === undefined || failed;
  return {
    text: !isText ? JSON.stringify(value) : typeof text === "string" ? text : JSON.stringify(text ?? ""),
    isValue: !isText || (text !== undefined && typeof text !== "string"),
    failed,
    tokens: input === null && output === null ? null : tokens,
    cost_usd: number(rule.cost_usd),
    ...stoppedIn((found ?? said)?.within),
  };
}

/** A value, and the object that it stands in. */
interface Found {
  readonly value: WrittenJson;
  readonly within: WrittenJson | undefined;
}

/**
 * The value at a pointer; undefined: nothing is said there, or an object that its type calls
 * thinking has it.
 */
function foundAt(root: WrittenJson, pointer: string): Found | undefined {
  const value = pointedAt(root, pointer);
  if (value === undefined || value === null) return undefined;
  const within = pointedAt(root, pointer.slice(0, pointer.lastIndexOf("/")));
  const type = within === undefined ? undefined : fieldOf(within, "type");
  return typeof type === "string" && THINKING.test(type) ? undefined : { value, within };
}

const THINKING = /^(?:reasoning|thinking|thought|analysis)/i;
const STOPS = ["stop_reason", "finish_reason", "stopReason", "finishReason"];

function stoppedIn(within: WrittenJson | undefined): Pick<AgentAnswer, "stopped"> {
  const reason = within === undefined ? undefined : STOPS.map((name) => fieldOf(within, name)).find((one) => one);
  const meaning = typeof reason === "string" ? stopMeaning(reason) : undefined;
  return typeof reason === "string" && meaning !== undefined ? { stopped: { reason, meaning } } : {};
}

/** The value at a JSON pointer (RFC 6901). */
function pointedAt(root: WrittenJson, pointer: string): WrittenJson | undefined {
  let at: WrittenJson | undefined = root;
  for (const token of pointer.split("/").slice(1)) {
    if (at === undefined) return undefined;
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    at = isList(at) ? (/^\d+$/.test(name) ? at[Number(name)] : undefined) : fieldOf(at, name);
  }
  return at;
}

/** Beginnings of a value that are tried, from the last one. */
const MOST_BEGINNINGS = 20;

/** JSON values of which one is the answer. A program may say something before it. */
function* wholeValues(printed: string): Generator<WrittenJson> {
  const text = printed.trim();
  const whole = jsonIn(text);
  if (whole !== undefined) return yield whole;
  const lines = text.split("\n");
  for (const line of lines.slice(-MOST_BEGINNINGS).reverse()) {
    const value = jsonIn(line);
    if (value !== undefined && typeof value === "object") yield value;
  }
  // A value of more than one line ends with the output.
  const begins = lines.flatMap((line, index) => (/^[{[]/.test(line) ? [index] : []));
  for (const index of begins.slice(0, MOST_BEGINNINGS)) {
    const value = jsonIn(lines.slice(index).join("\n"));
    if (value !== undefined) yield value;
  }
}

/** The value of a JSON text; undefined if it is none. */
function jsonIn(text: string): WrittenJson | undefined {
  // A byte order mark is no part of JSON.
  const json = text.replace(/^\uFEFF/, "").trim();
  if (!/^[{["\d\-tfn]/.test(json)) return undefined;
  try {
    return readJson(json);
  } catch {
    return undefined;
  }
}

/** The most of a text that is looked at as a report of a failure, UTF-16 units. */
const MOST_REPORT = 1000;
/** Words of a provider, or of a program about its account. */
const OF_PROVIDER: readonly RegExp[] = [
  /^\W{0,3}(?:(?:api|http|request|server|provider) )?(?:error|failed)\b[:\s(]{0,4}(?:code |status )?[45]\d\d\b/i,
  /^\W{0,3}[45]\d\d\b[:\s-]{0,4}(?:\{|unauthori|forbidden|too many|overloaded|bad gateway|internal server|service unavailable)/i,
  /^\W{0,3}(?:error: ?)?(?:(?:invalid|incorrect|missing|no) api key|not logged in|please run \/login|(?:your )?credit balance)/i,
];
const OF_FAILURE =
  /^\W{0,3}(?:(?:api|fatal|execution|request|server|internal|connection|network|stream|unhandled|uncaught) )?(?:fatal|error|[A-Z]\w{0,30}Error)\b ?[:(—-]|^(?:request (?:failed|timed out|was aborted)|failed to (?:authenticate|connect|fetch))\b/i;

/**
 * True if a text that a program printed as its answer reports its failure: `surely`, or as an
 * answer about failures may look too.
 *
 * @param shown texts that the program was given
 */
export function reportsFailure(text: string, shown: readonly string[]): { readonly surely: boolean } | null {
  const said = text.trim();
  if (said.length > MOST_REPORT || shown.some((one) => one.includes(said.slice(0, 60)))) return null;
  if (OF_PROVIDER.some((words) => words.test(said))) return { surely: true };
  return OF_FAILURE.test(said) ? { surely: false } : null;
}

/** Codes that a terminal carries out: colours, places of the cursor, titles of its window. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these codes begin with it
const CODES = /\u001b(?:\[[0-?]{0,99}[ -/]{0,9}[@-~]|\][^\u0007\u001b]{0,999}(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
/** The code behind which a line is cleared, or written again from its beginning. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const REWRITTEN = /\u001b\[(?:2K|1?G)|\r(?=[^\n])/;

/** A text as a terminal shows it, without codes. A text without codes stays as it is. */
export function withoutCodes(text: string): string {
  if (!text.includes("\u001b")) return text;
  const lines = text.split("\n").map((line) => line.split(REWRITTEN).at(-1) ?? "");
  return lines.join("\n").replace(CODES, "").trim();
}
