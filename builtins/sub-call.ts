import * as v from "valibot";
import {
  argumentError,
  type CallScope,
  type Json,
  LIMITS,
  RlmError,
  remedy,
  SAMPLING,
  THINKING,
} from "../runtime/index.ts";
import type { CallCheck } from "./define.ts";
import { factsOf } from "./facts.ts";
import type { ChildContext, ContextServices, Range, Services } from "./services.ts";

const countable = (what: string) => v.pipe(v.number(what), v.integer(what), v.minValue(1, what));
const within = (least: number, most: number, what = `must be a whole number from ${least} to ${most}`) =>
  v.pipe(v.number(what), v.integer(what), v.minValue(least, what), v.maxValue(most, what));
const json = v.custom<Json>(() => true);
const NAME = "must be a text of at most 200 characters";
const name = v.exactOptional(v.pipe(v.string(NAME), v.maxLength(200, NAME)));

const Options = v.strictObject({
  tools: v.exactOptional(v.array(v.string("must be a list of names"), "must be a list of names")),
  model: v.exactOptional(v.string("must be a string")),
  system: v.exactOptional(v.string("must be a string")),
  max_tokens: v.exactOptional(countable("must be a whole number above 0")),
  timeout_ms: v.exactOptional(countable("must be a whole number of ms above 0")),
  thinking: v.exactOptional(v.picklist(THINKING, `must be one of ${THINKING.join(", ")}`)),
  ...SAMPLING,
  schema: v.exactOptional(v.record(v.string(), json, "must be a JSON Schema, an object")),
  or_text: v.exactOptional(v.boolean("must be true or false")),
  delivery: v.exactOptional(v.picklist(["now", "batch"], 'must be "now" or "batch"')),
  label: name,
  phase: name,
  agent: name,
  isolation: v.exactOptional(v.picklist(["worktree"], 'must be "worktree"')),
  context: v.exactOptional(json),
  max_turns: v.exactOptional(within(1, LIMITS.askTurns)),
  max_sub_calls: v.exactOptional(within(0, LIMITS.childSubCalls)),
  cites: v.exactOptional(v.boolean("must be true or false")),
});

type Options = v.InferOutput<typeof Options>;

/** Options that only a call with a context of its own takes, and those that it does not take. */
const NEED_CONTEXT = ["max_turns", "max_sub_calls", "cites"] as const;
const WITHOUT_CONTEXT = ["tools", "system", "max_tokens", "or_text", "agent", ...Object.keys(SAMPLING)];
/** Options that a call of an agent does not take: it works with its own. */
const WITHOUT_AGENT = ["tools", "system", "max_tokens", "delivery", ...Object.keys(SAMPLING)];

/**
 * The batch that a call belongs to: the guest's own number of it, and how many of it may be in
 * flight at once.
 */
const Batch = v.object({ id: v.number(), max_concurrent: v.exactOptional(v.number()) });

/** A sub-call's request, by the names that cells use. */
export interface SubCallRequest extends Omit<Options, "context"> {
  readonly prompt: string;
  readonly batch?: v.InferOutput<typeof Batch>;
  /**
   * The text that the model explores with cells of its own. Without it the model gets the prompt
   * alone.
   */
  readonly context?: ChildContext;
}

/** The call that takes all of P if it names no context. */
const RLM_QUERY = "rlm_query";

/**
 * Reads `llm_query(prompt, { … })` or, as the spec has it, `llm_query(prompt, tools)`;
 * `rlm_query(question, { … })` as well.
 * @throws RlmError a TypeError for the guest that names the argument
 */
export function readSubCall(name: string, args: readonly Json[]): SubCallRequest {
  const [prompt, given, batch] = args;
  if (typeof prompt !== "string") {
    throw argumentError("TypeError", `${name}: prompt must be a string`, `Call it as ${name}(prompt, { … }).`);
  }
  if (Buffer.byteLength(prompt) > LIMITS.promptBytes) {
    const size = `${(Buffer.byteLength(prompt) / 2 ** 20).toFixed(1)} MB`;
    throw argumentError("RangeError", `${name}: the prompt has ${size} (limit 1 MB)`, "Send less text in one prompt.");
  }
  const { context, ...options } = readOptions(name, given);
  const whole = name === RLM_QUERY ? { whole: true as const } : null;
  const own = context === undefined ? whole : readContext(name, context);
  return { prompt, ...fitting(name, { ...options, ...(own && { context: own }) }), ...readBatch(name, batch) };
}

/** @throws RlmError for options that do not go together */
function fitting<O extends Pick<SubCallRequest, "context"> & object>(name: string, options: O): O {
  if (options.context) {
    const other = WITHOUT_CONTEXT.find((key) => key in options);
    if (other === undefined) return options;
    const cure = "Leave one of them out: a model with a context works with cells, by the words of Belay.";
    throw argumentError("TypeError", `${name}: context and ${other} do not go together`, cure);
  }
  const own = "agent" in options ? WITHOUT_AGENT.find((key) => key in options) : undefined;
  if (own !== undefined) {
    const cure = "Leave one of them out: an agent works with its own.";
    throw argumentError("TypeError", `${name}: agent and ${own} do not go together`, cure);
  }
  const needy = NEED_CONTEXT.find((key) => key in options);
  const needs = (option: string, other: string) =>
    argumentError(
      "TypeError",
      `${name}: ${option} is for calls with ${other}`,
      `Pass ${other} too, or leave out ${option}.`,
    );
  if (needy !== undefined) throw needs(needy, "context");
  if ("or_text" in options && !("schema" in options)) throw needs("or_text", "schema");
  if ("isolation" in options && !("agent" in options)) throw needs("isolation", "agent");
  return options;
}

function readOptions(name: string, given: Json | undefined): Options {
  if (given === undefined || given === null) return {};
  const checked = v.safeParse(Options, Array.isArray(given) ? { tools: given } : given);
  if (checked.success) return checked.output;
  const [issue] = checked.issues;
  const key = String(issue.path?.[0].key ?? "options");
  const known = Object.keys(Options.entries);
  if (issue.path && !known.includes(key)) {
    throw argumentError("TypeError", `${name}: unknown option ${key}`, `Options are ${known.join(", ")}.`);
  }
  throw argumentError("TypeError", `${name}: ${key} ${issue.message}`, `help("${name.split(":")[0]}") has the types.`);
}

function readBatch(name: string, batch: Json | undefined): Pick<SubCallRequest, "batch"> {
  if (batch === undefined) return {};
  const checked = v.safeParse(Batch, batch);
  if (checked.success) return { batch: checked.output };
  throw argumentError("TypeError", `${name} takes 2 arguments (prompt, options)`, "Leave out what comes after them.");
}

/**
 * Makes the check of a builtin that asks models. It looks at a sub-call when the cell makes it:
 * what is wrong with it or over the budget is refused at once. It returns as how many calls the
 * call counts.
 */
export const checkOf =
  (name: string): CallCheck =>
  (services, args, scope) =>
    checkSubCall(name, readSubCall(name, args), services, scope);

function checkSubCall(name: string, request: SubCallRequest, services: Services, scope: CallScope): number {
  if (request.prompt.includes("[object Promise]")) scope.warn("unawaited_value_in_prompt");
  checkRequest(name, request, services, scope);
  if (factsOf(scope).remaining_time_ms <= 0) throw budgetExceeded(scope, "time_ms", "its time is over");
  const left = callsLeft(scope);
  const calls = callsOf(request, left);
  if (left < 1) throw budgetExceeded(scope, "sub_calls", "no sub-calls are left");
  if (left < calls) {
    const cure = "Pass a smaller max_sub_calls; with 0 the model reads and counts by itself.";
    const why = `the call and those that its model may make are ${calls} sub-calls, ${left} are left`;
    throw budgetExceeded(scope, "sub_calls", why, cure);
  }
  services.loaded()?.coverage.sent(request);
  return calls;
}

/**
 * The number of sub-calls that a call counts as when it is made: itself, and those that are
 * allotted to its model. If it does not say how many, it is allotted the default, or as many as are
 * left.
 */
export function callsOf({ context, max_sub_calls }: SubCallRequest, left: number): number {
  if (!context) return 1;
  return 1 + (max_sub_calls ?? Math.min(LIMITS.childSubCallsDefault, Math.max(0, left - 1)));
}

/**
 * Looks at what a call asks, and of whom, wherever it stands in a batch.
 *
 * @throws RlmError for a prompt that asks nothing; `no_model_configured` if neither the call nor
 * the session names a model; `depth_exceeded`, or what is wrong with the call's context
 */
export function checkRequest(name: string, request: SubCallRequest, services: Services, scope: CallScope): void {
  const { prompt, model, context } = request;
  const { no_model, depth_left } = factsOf(scope);
  if (prompt.trim() === "")
    throw argumentError("TypeError", `${name}: the prompt is empty`, "Say what the model is to do.");
  if (no_model !== null && model === undefined && request.agent === undefined) {
    throw subAgentError("no_model_configured", "no model is configured for sub-calls", no_model);
  }
  if (!context) return;
  if (depth_left < 1) {
    const cure = `Put the text into the prompt of a call without context, or ${remedy("raiseDepth")}.`;
    throw subAgentError("depth_exceeded", `${name}: a call with context would go deeper than the session allows`, cure);
  }
  if (!("text" in context)) checkContext(name, context, "of" in context ? services.history() : services.context());
}

function subAgentError(code: "depth_exceeded" | "no_model_configured", problem: string, suggestion: string): RlmError {
  return new RlmError(code, problem, { guestName: "SubAgentError", retriable: false, suggestion });
}

/** Sub-calls that may still be made. */
export function callsLeft(scope: CallScope): number {
  return Math.max(0, factsOf(scope).remaining_sub_calls - scope.newCalls());
}

/**
 * The refusal of what a limit of the budget does not allow. The envelope has a warning, since a
 * cell may catch it.
 */
export function budgetExceeded(
  scope: CallScope,
  limit: "time_ms" | "sub_calls" | "tokens" | "functions",
  why: string,
  suggestion = `Look at budget() first; summarise with what there is, or ${remedy("moreBudget")}.`,
): RlmError {
  scope.warn(`limit_met: ${limit}`);
  return new RlmError("budget_exceeded", `the budget does not allow this: ${why}`, {
    guestName: "BudgetExceededError",
    retriable: false,
    suggestion,
  });
}

/** The mark of a place of the history: its offsets mean something else in P. */
export const OF_HISTORY = "history";

/**
 * Reads the option `context` as a cell gives it: a text, a place of P or of the history, or a list
 * of places. A place is `[start, end]` or has both, as documents and hits of searches do. An empty
 * place is left out.
 *
 * @throws RlmError an error for the guest that names the argument
 */
function readContext(name: string, given: Json): ChildContext {
  if (typeof given === "string") return readText(name, given);
  const isList = Array.isArray(given) && !isPair(given);
  const places = isList ? given : [given];
  if (places.length > LIMITS.contextPlaces) {
    throw wrong("RangeError", name, `has ${places.length} places (limit 10,000)`);
  }
  const ranges = merged(places.map((place, i) => rangeOf(name, isList ? `context[${i}]` : "context", place)));
  const ofHistory = places.filter(isOfHistory).length;
  if (ofHistory > 0 && ofHistory < places.length) {
    const cure = "Make a call for each: the model explores one text.";
    throw argumentError("TypeError", `${name}: context has places of P and of the history`, cure);
  }
  if (ranges.length === 0) throw wrong("TypeError", name, `names no text of ${ofHistory > 0 ? "the history" : "P"}`);
  return ofHistory > 0 ? { ranges, of: OF_HISTORY } : { ranges };
}

/**
 * @param source P, or the history if the places are of it
 * @throws RlmError if it does not hold what the call is to be given
 */
function checkContext(name: string, given: ChildContext, source: ContextServices): void {
  if ("text" in given) return;
  const { length } = source;
  const of = "of" in given ? "the history" : "P";
  const ranges = "whole" in given ? [[0, length] as const] : given.ranges;
  const last = ranges.at(-1);
  if (last && last[1] > length) {
    throw wrong("RangeError", name, `has the place [${last.join(", ")}], but ${of} has ${length} characters`);
  }
  if (!ranges.some((range) => holdsText(source, range))) {
    throw wrong("RangeError", name, `lies between the documents of ${of}, where there is no text`);
  }
}

/** True if a character of a document lies in the range. */
function holdsText({ documentFrom }: ContextServices, [start, end]: Range): boolean {
  for (let at = start; at < end; ) {
    const document = documentFrom(at);
    if (!document || document.start >= end) return false;
    if (Math.max(document.start, start) < Math.min(document.end, end)) return true;
    at = document.end + 1;
  }
  return false;
}

function readText(name: string, text: string): ChildContext {
  if (text.trim() === "") throw wrong("TypeError", name, "is empty");
  const bytes = Buffer.byteLength(text);
  if (bytes <= LIMITS.promptBytes) return { text };
  const size = `${(bytes / 2 ** 20).toFixed(1)} MB`;
  const cure = "Name places of P in its stead, which may have any size; [0, P.length] is all of it.";
  throw argumentError("RangeError", `${name}: context has ${size} as a text (limit 1 MB)`, cure);
}

function rangeOf(name: string, argument: string, place: Json): Range {
  const range = isPair(place) ? place : typeof place === "object" && place !== null ? boundsOf(place) : null;
  if (!range) throw wrong("TypeError", name, "must be [start, end], or have start and end", argument);
  const [start, end] = range;
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end) return [start, end];
  const why = `is [${start}, ${end}]: start and end must be integers, from 0, start before end`;
  throw wrong("RangeError", name, why, argument);
}

/** A pair of numbers, behind which one of the history says so. */
const isPair = (value: Json): value is [number, number] =>
  Array.isArray(value) &&
  (value.length === 2 || (value.length === 3 && value[2] === OF_HISTORY)) &&
  value.slice(0, 2).every((one) => typeof one === "number");

function isOfHistory(place: Json): boolean {
  if (Array.isArray(place)) return place[2] === OF_HISTORY;
  return typeof place === "object" && place !== null && Reflect.get(place, "of") === OF_HISTORY;
}

function boundsOf(place: object): Range | null {
  const start: unknown = Reflect.get(place, "start");
  const end: unknown = Reflect.get(place, "end");
  return typeof start === "number" && typeof end === "number" ? [start, end] : null;
}

/** In their order in P. Those that overlap or touch are one, and empty ones are none. */
function merged(ranges: readonly Range[]): readonly Range[] {
  const sorted = ranges.filter(([start, end]) => start < end).sort(([a], [b]) => a - b);
  const apart: Range[] = [];
  for (const [start, end] of sorted) {
    const before = apart.at(-1);
    if (before && start <= before[1]) apart[apart.length - 1] = [before[0], Math.max(before[1], end)];
    else apart.push([start, end]);
  }
  return apart;
}

const wrong = (kind: "TypeError" | "RangeError", name: string, why: string, argument = "context"): RlmError =>
  argumentError(kind, `${name}: ${argument} ${why}`, CURE);

const CURE =
  "Pass a text of at most 1 MB, [start, end], a document, a search hit, or a list of places: find(…).matches, list_docs().";
