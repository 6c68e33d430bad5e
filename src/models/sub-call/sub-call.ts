import { hasCode, type Json, LIMITS, RlmError, type Sampling, type Thinking } from "../../../runtime/index.ts";
import { messageOf } from "../../platform/errors.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { joinSignals } from "../../platform/signals.ts";
import { type AgentTool, readOnlyTools } from "../agent-tools/index.ts";
import { cutAnswer, failure, refusesTools } from "../failure.ts";
import type { Model, ModelMessage, ModelRequest, Models, ModelTurn, SubCallError } from "../port.ts";
import { standInOf } from "../replies/stand-ins.ts";
import { leftCallCure } from "../replies/text-calls.ts";
import type { ReadValue } from "../replies/value-in-text.ts";
import { NULL_FOR_ABSENT } from "../schema/fitted.ts";
import { shownTexts } from "../sent-messages.ts";
import { TaskEnded, type TaskThread } from "../tasks/task-thread.ts";
import { estimateRequest, knownPrice } from "../usage.ts";
import { answerTools, schemaProblem, valueIn } from "./in-thread.ts";
import { type Asked, NOTHING_SENT, openRequests, type RequestParts, type Requests, type Spent } from "./requests.ts";

/** One sub-call, as decided: nothing in it is optional any more. */
export interface SubCall {
  readonly prompt: string;
  readonly system: string | null;
  /** Granted by `decideTools`; [] for a plain completion. */
  readonly tools: readonly string[];
  /** JSON Schema that the answer must fit; null: the answer is text. */
  readonly schema: Json | null;
  /** An answer that does not fit the schema is given as text. */
  readonly or_text: boolean;
  /** Output tokens of each request, thinking included. */
  readonly max_tokens: number;
  /** For the whole call: waiting for the budget, retries and tools included; ms. */
  readonly timeout_ms: number;
  readonly model: string | null;
  readonly thinking: Thinking;
  /** Parameters that the caller sets. Absent: the provider's own. */
  readonly sampling?: Sampling;
}

interface SubCallParts extends RequestParts, Pick<ModelRequest, "shared" | "begun"> {
  readonly models: Models;
  /** Holds at least the tools that the call names. */
  readonly tools: readonly AgentTool[];
  /** Compares schemas, arguments and answers. */
  readonly thread: TaskThread;
  /** Id of the call, by which providers find the cache of a sub-agent's turns. */
  readonly conversation: string;
  /** Answers that a sub-agent with tools may give, the last one included. */
  readonly maxTurns: number;
}

/** The end of a sub-call. */
export type SubCallOutcome = Spent & {
  /** `provider/id`; if the model was not found, the name that was asked for. */
  readonly model: string;
} & ({ readonly ok: true; readonly value: Json } | FailedAnswer);

/**
 * Answers one sub-call: a plain completion, or a sub-agent that uses tools until it answers. Each
 * request is reserved in the budget before it is sent. Never rejects. An abort ends it within a
 * second with `cancelled`.
 */
export async function runSubCall(call: SubCall, parts: SubCallParts, signal: AbortSignal): Promise<SubCallOutcome> {
  const failed = (error: SubCallError) => ({ ...NOTHING_SENT, ok: false as const, error, model: call.model ?? "" });
  if (signal.aborted) return failed(failure("cancelled", "the call was cancelled"));
  const model = resolved(call, parts);
  if ("code" in model) {
    await parts.budget.answered?.(model);
    return failed(model);
  }
  const tools = call.tools.map((name) => parts.tools.find((tool) => tool.name === name));
  const missing = call.tools[tools.indexOf(undefined)];
  if (missing !== undefined) return failed(failure("policy_violation", `the tool ${missing} does not exist here`));

  const done = new AbortController();
  const timeOver = new AbortController();
  // Time at a provider is not the call's.
  const timeoutMs = parts.post ? Number.POSITIVE_INFINITY : call.timeout_ms;
  if (!parts.post) {
    void parts.sleep(timeoutMs, done.signal).then(() => {
      if (!done.signal.aborted) timeOver.abort();
    });
  }
  using stopped = joinSignals(signal, timeOver.signal);
  const stop = stopped.signal;
  const deadline = parts.clock.monotonic() + timeoutMs;
  const { max_tokens, thinking, sampling } = call;
  // A plain completion is one request: a cache of it would be written for nothing.
  const { shared, begun } = parts;
  const asked = { max_tokens, thinking, ...withoutUndefined({ sampling, shared, begun }) };
  const asking = tools.length === 0 ? asked : { ...asked, conversation: parts.conversation };
  const requests = openRequests(model, asking, parts, { deadline, signal: stop });
  const answer = await converse(
    { ...call, tools: tools.filter((tool) => tool !== undefined) },
    requests,
    parts,
    stop,
  ).catch((error: unknown) => ({ ok: false as const, error: unexpected(error) }));
  // With a reason of its own: making an AbortError for each call is not free.
  done.abort("done");
  const outcome = { ...requests.spent(), model: model.id };
  if (answer.ok) return { ...outcome, ...answer, mended: [...outcome.mended, ...(answer.mended ?? [])] };
  return { ...outcome, ...answer, error: whatEndedIt(answer.error) };

  /** Aborted work reports `cancelled`, also if the call's time was the reason. */
  function whatEndedIt(error: SubCallError): SubCallError {
    if (error.code !== "cancelled" || signal.aborted || !timeOver.signal.aborted) return error;
    return failure("timeout", `no answer within ${call.timeout_ms} ms`);
  }
}

function resolved({ model }: SubCall, { models }: SubCallParts): Model | SubCallError {
  try {
    return models.resolve(model);
  } catch (error) {
    if (!(error instanceof RlmError)) return unexpected(error);
    const { code: given } = error;
    const code = given === "auth_expired" || given === "host_incompatible" ? given : "no_model_configured";
    return { code, message: error.message, suggestion: error.suggestion, retriable: false };
  }
}

/**
 * An error that no step of the call expects. A tool that this host cannot make keeps its own code
 * and remedy.
 */
function unexpected(error: unknown): SubCallError {
  if (hasCode(error, "host_incompatible")) {
    return { code: error.code, message: error.message, suggestion: error.suggestion, retriable: false };
  }
  const reason = messageOf(error);
  return failure("sub_agent_error", `the sub-call failed: ${reason}`);
}

interface FailedAnswer {
  readonly ok: false;
  readonly error: SubCallError;
  /** The last answer, if it did not fit the schema. */
  readonly misfit?: string;
}

/** `mended`: what was put right in the text of its value, as kinds; absent: nothing was. */
type Answer = { readonly ok: true; readonly value: Json; readonly mended?: readonly string[] } | FailedAnswer;

interface Conversation extends Pick<SubCall, "prompt" | "system" | "schema" | "or_text" | "max_tokens"> {
  readonly tools: readonly AgentTool[];
}

/**
 * Asks until the model answers without using a tool; then, with a schema, once more if the answer
 * does not fit. The repair has a turn of its own beyond `maxTurns`. If that does not fit either,
 * the call fails, or gets the text by `or_text`.
 */
async function converse(
  { prompt, system, tools, schema, or_text, max_tokens }: Conversation,
  requests: Requests,
  { maxTurns, thread }: { readonly maxTurns: number; readonly thread: TaskThread },
  signal: AbortSignal,
): Promise<Answer> {
  const refused = schema === null ? null : await schemaProblem(schema, thread, signal);
  if (refused) return { ok: false, error: refused };
  const first = firstRequest({ prompt, system, tools, schema }, maxTurns);
  const messages = [...first.messages];
  let turnsLeft = maxTurns;
  const asking: Asking = { form: schema, isRepair: false, wasUnread: false };
  /** The model knows that a call in its text was not run. */
  let wasTold = false;
  /**
   * An answer that fits and has a part that stands for something: it counts if nothing better
   * comes.
   */
  let unfilled: { readonly answer: Answer; readonly shown: readonly string[] } | null = null;
  for (;;) {
    const asked = await requests.ask(first.system, messages, first.tools, formOf(asking));
    if (isSentAgain(asked, asking)) continue;
    if (!asked.ok) return { ...asked, error: withCure(asked.error, tools) };
    const { turn } = asked;
    turnsLeft -= 1;
    messages.push({ role: "assistant", answer: turn });
    if (turn.stop !== "length" && turn.toolUses.length > 0 && tools.length > 0) {
      if (turnsLeft < 1) return { ok: false, error: failure("sub_agent_error", `no answer after ${maxTurns} turns`) };
      const answers = await answerTools(tools, turn.toolUses, thread, signal);
      messages.push(...(turnsLeft === 1 ? withNote(answers) : answers));
      continue;
    }
    const flaw = flawOf(turn, max_tokens);
    if (flaw !== undefined) return { ok: false, error: flaw };
    const shown = shownTexts({ system: first.system, messages });
    const isValue = schema !== null && tools.length === 0;
    const cure = leftCallCure(turn.text, first.tools, shown);
    if (cure !== null && !isValue) {
      if (tools.length === 0 || wasTold || turnsLeft < 1) return { ok: false, error: leftCall(tools, cure) };
      wasTold = true;
      messages.push({ role: "user", text: CALL_AGAIN });
      continue;
    }
    if (schema === null) return { ok: true, value: turn.text };
    const read = await valueIn({ text: turn.text, shown }, schema, thread, signal);
    const standIn = read.ok ? standInOf(read.value, unfilled?.shown ?? shown) : null;
    if (read.ok) {
      const answer = asked.isConstrained ? withoutNulls(read) : { value: read.value, mended: read.mended ?? [] };
      if (standIn === null) return { ok: true, ...answer };
      unfilled = { shown, answer: { ok: true, ...answer, mended: [...answer.mended, UNFILLED] } };
    }
    if ("error" in read) return read;
    if (unfilled && asking.isRepair) return unfilled.answer;
    if (!read.ok && (asking.isRepair || read.isFinal)) {
      if (!or_text) return { ok: false, error: mismatch(read, turn.text), misfit: turn.text };
      return cure === null ? { ok: true, value: turn.text } : { ok: false, error: leftCall(tools, cure) };
    }
    asking.isRepair = true;
    if (asked.isConstrained) asking.form = null;
    turnsLeft = Math.max(turnsLeft, 1);
    messages.push({ role: "user", text: repairRequest(read.ok ? [nothingFills(standIn ?? "")] : read.problems) });
  }
}

/** The way in which a conversation asks for its value. It changes with the replies. */
interface Asking {
  /**
   * The schema that the provider is asked to keep to; null: there is none, or it has not kept to
   * it.
   */
  form: Json | null;
  /** The next reply is the last try. */
  isRepair: boolean;
  /** The server could not read a reply of the model, which says nothing of the next one. */
  wasUnread: boolean;
}

/**
 * True if the request is sent again, since the reply says nothing of the answer. `asking` then says
 * how.
 */
function isSentAgain(asked: Asked, asking: Asking): boolean {
  const isUnread = !asked.ok && asked.unread !== undefined && !asking.wasUnread;
  if ((asked.isConstrained && isBlank(asked)) || isUnread) {
    if (asked.isConstrained) asking.form = null;
    asking.wasUnread ||= isUnread;
    return true;
  }
  // A model that runs on beside its tools ends if it is kept to the schema.
  const runsOn = asked.isConstrained === false && asked.ok && asked.turn.stop === "length";
  if (!runsOn || asking.isRepair) return false;
  asking.isRepair = true;
  return true;
}

const UNFILLED = "a part that nothing fills in";

const nothingFills = (part: string) =>
  `${JSON.stringify(part.slice(0, 80))} stands for something: give what it stands for`;

const CALL_AGAIN =
  "Your call came as text, and was not run. Call the tool, or, if you cannot, answer from what you have: nothing but the answer.";

/** The failure of a model whose server leaves its calls in the text. */
function leftCall(tools: readonly AgentTool[], cure: string): SubCallError {
  const more = { retriable: false, suggestion: "Start the server so, or name another model." };
  if (tools.length === 0) {
    const problem = "the model gave a call of a tool in place of an answer, and its server left it in the text";
    return failure("provider_error", `${problem}; ${cure}`, more);
  }
  const problem = "the model calls tools in its text, which are not run: its server does not read these calls";
  return failure("sub_agent_error", `${problem}; ${cure}`, more);
}

/** A failure with what a caller can do, if the tools of the call are at fault. */
function withCure(error: SubCallError, tools: readonly AgentTool[]): SubCallError {
  return tools.length > 0 && refusesTools(error) ? { ...error, suggestion: WITHOUT_TOOLS } : error;
}

const WITHOUT_TOOLS =
  "Pass tools: [] and put the text into the prompt, or start the server with a parser of calls (vLLM --enable-auto-tool-choice --tool-call-parser NAME, llama-server --jinja).";

/**
 * A provider that keeps to a schema is asked for null where a property may be absent: that is not
 * told.
 */
function withoutNulls({ value, mended = [] }: Extract<ReadValue, { ok: true }>) {
  return { value, mended: mended.filter((kind) => kind !== NULL_FOR_ABSENT) };
}

/**
 * The fields that ask a provider to keep to a schema. The answer to a repair counts for more than
 * its tools.
 */
function formOf({ form: schema, isRepair }: Asking): Pick<ModelRequest, "schema" | "mayDropTools"> {
  if (schema === null) return {};
  return isRepair ? { schema, mayDropTools: true } : { schema };
}

/** An answer with more white space at its end runs on, UTF-16 units. */
const MOST_SPACES = 200;

/** True for white space in place of an answer: grammars of servers allow it without end. */
function isBlank(asked: Asked): boolean {
  if (!asked.ok) return asked.error.code === "empty_answer";
  const { text, stop } = asked.turn;
  return stop === "length" && text.length - text.trimEnd().length >= MOST_SPACES;
}

/** The request that a sub-call begins with. */
function firstRequest(
  { prompt, system, tools, schema }: Omit<Conversation, "max_tokens" | "or_text">,
  maxTurns: number,
): Pick<ModelRequest, "system" | "messages" | "tools"> {
  return {
    system: tools.length === 0 ? system : agentSystem(tools, maxTurns, system),
    messages: [{ role: "user", text: schema === null ? prompt : `${prompt}\n\n${schemaRequest(schema)}` }],
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
  };
}

/**
 * The fault that keeps a text from being an answer: nothing arrives as an empty or silently
 * shortened string.
 */
function flawOf(turn: ModelTurn, maxTokens: number): SubCallError | undefined {
  const { text, stop } = turn;
  if (stop === "length") return cutAnswer(turn, `max_tokens (${maxTokens})`);
  if (text.trim() === "") return failure("empty_answer", "the model answered with no text");
  if (text.length <= LIMITS.answerUnits) return undefined;
  const sizes = `${text.length} characters, the limit is ${LIMITS.answerUnits}`;
  return failure("truncated_answer", `the answer is too long: ${sizes}`, {
    suggestion: "Ask for a shorter answer, or for parts.",
  });
}

function withNote(answers: readonly ModelMessage[]): ModelMessage[] {
  return answers.map((message, index) =>
    index === answers.length - 1 && message.role === "tool"
      ? { ...message, text: `${message.text}\n\n[This is your last turn: answer now, without tools]` }
      : message,
  );
}

/** Characters of an answer that the error shows. */
const SHOWN_UNITS = 200;

function mismatch({ problems, isFinal }: Extract<ReadValue, { ok: false }>, text: string): SubCallError {
  const shown = `${text.slice(0, SHOWN_UNITS).toWellFormed()}${text.length > SHOWN_UNITS ? "…" : ""}`;
  const message = `the answer does not fit the schema: ${problems.join("; ")}; it is: ${shown}`;
  if (!isFinal) return failure("schema_mismatch", message);
  return failure("schema_mismatch", message, { suggestion: "Ask for such a figure as a text.", retriable: false });
}

/** System prompt of a sub-agent, before the caller's own. */
function agentSystem(tools: readonly AgentTool[], maxTurns: number, system: string | null): string {
  const effects = tools.filter(({ sideEffects }) => sideEffects).map(({ name }) => name);
  const reach =
    effects.length === 0
      ? "They only read."
      : `All but ${effects.join(", ")} only read; use ${effects.length === 1 ? "that one" : "those"} only if the request asks for it.`;
  const own = [
    "You are a sub-agent: a program sends you one request and uses your answer. Nobody can answer questions.",
    `Tools: ${tools.map(({ name }) => name).join(", ")}. ${reach} Use them if the request itself does not hold what you need. Relative paths begin at the top folder.`,
    `You have at most ${maxTurns} turns. Your first message without a tool call is returned to the program as text, whole: give the answer, nothing about how you found it.`,
  ].join("\n");
  return system === null ? own : `${own}\n\n${system}`;
}

/** Follows the prompt of a call with a schema. */
function schemaRequest(schema: Json): string {
  return `Answer with JSON only, no prose and no code fence. It must be valid against this JSON Schema:\n${JSON.stringify(schema)}`;
}

/** Asks for the answer again. */
function repairRequest(problems: readonly string[]): string {
  const list = problems.map((problem) => `- ${problem}`).join("\n");
  return `Your answer does not fit the JSON Schema:\n${list}\nAnswer again with the corrected JSON only.`;
}

/**
 * The cost of a sub-call's first request, and the number of requests that there may be, without
 * repeated ones.
 */
export function estimateSubCall(
  call: SubCall,
  { models, tools, maxTurns }: Pick<SubCallParts, "models" | "tools" | "maxTurns">,
): { input_tokens: number; max_output_tokens: number; max_requests: number; cost_usd: number } {
  const granted = tools.filter(({ name }) => call.tools.includes(name));
  const first = firstRequest({ ...call, tools: granted }, maxTurns);
  // The real call without a model, or of one that is not known, says so.
  const price = (call.model ?? models.fallback) === null ? null : (knownPrice(models, call.model) ?? null);
  const { input_tokens, max_tokens, cost_usd } = estimateRequest({ ...first, maxTokens: call.max_tokens }, price);
  const max_requests = (granted.length > 0 ? maxTurns : 1) + (call.schema === null ? 0 : 1);
  return { input_tokens, max_output_tokens: max_tokens, max_requests, cost_usd };
}

/**
 * Tokens that the tools of a call that names none take in each of its requests, by their
 * characters.
 */
export function tokensOfTools(maxTurns: number): number {
  const call = { prompt: "", system: null, schema: null };
  const inputOf = (tools: readonly AgentTool[]) =>
    estimateRequest({ ...firstRequest({ ...call, tools }, maxTurns), maxTokens: 0 }, null).input_tokens;
  return inputOf(readOnlyTools({ roots: [], cwd: "", documents: {} })) - inputOf([]);
}

/**
 * The answer of a dry run instead of a model: a text, or a value that fits the schema. It is `{}`
 * if looking for one takes too long. `assumed`: items that its lists have, as far as they may.
 */
export async function placeholderAnswer(
  { schema, assumed }: Pick<SubCall, "schema"> & { readonly assumed: number },
  thread: TaskThread,
  signal: AbortSignal,
): Promise<Json> {
  if (schema === null) return "placeholder answer";
  try {
    return await thread.run("placeholder", [schema, assumed], signal);
  } catch (error) {
    if (error instanceof TaskEnded) return {};
    throw error;
  }
}
