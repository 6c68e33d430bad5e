import * as v from "valibot";
import { type Json, RlmError, type Sampling, type Thinking } from "../../runtime/index.ts";
import { messageOf } from "../platform/errors.ts";
import { isRecord, withoutUndefined } from "../platform/json.ts";
import { isClientTimeout, untimed } from "../platform/outbound.ts";
import { failure, isFailureCode, nothingSaid } from "./failure.ts";
import { type Fetching, fetchingBy, noteFailure, type SeenResponse } from "./pi-ai/response-watch.ts";
import type { Model, ModelAnswer, ModelMessage, ModelRequest, Models, ToolSpec, ToolUse, Usage } from "./port.ts";
import { isServerAway } from "./replies/away.ts";
import { withoutThinking } from "./replies/thinking.ts";
import { type GivenUse, toolUses as usesOf } from "./replies/tool-use.ts";
import { sentMessages, shownTexts } from "./sent-messages.ts";
import { limited } from "./time-limit.ts";
import { believed, NO_USAGE } from "./usage.ts";

/** A request of a sub-call or a turn, as a program's own function gets it. */
export interface CompletionRequest {
  /** The model that the caller names, `provider/id`; else that of the session. */
  readonly model: string;
  readonly system: string | null;
  readonly messages: readonly CompletionMessage[];
  /** Tools that the model may call: sub-agents and asks have some. */
  readonly tools: readonly ToolSpec[];
  /** Output tokens, thinking included. */
  readonly maxTokens: number;
  readonly thinking: Thinking;
  /**
   * The JSON Schema that the answer must fit: the last message states it too. Absent: the answer is
   * text.
   */
  readonly schema?: Json | undefined;
  /** Parameters that the caller sets; absent: none. */
  readonly sampling?: Sampling | undefined;
}

export type CompletionMessage =
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text: string; readonly toolUses: readonly ToolUse[] }
  | {
      readonly role: "tool";
      readonly id: string;
      readonly name: string;
      readonly text: string;
      readonly isError: boolean;
    };

/** An answer of such a function; a string is one without usage. */
export interface Completion {
  readonly text: string;
  /**
   * Ids and names may be missing, and `arguments` may be JSON: the model gets an error for what
   * cannot be read.
   */
  readonly toolUses?: readonly GivenUse[] | undefined;
  /** True if it was cut at `maxTokens`. */
  readonly isCut?: boolean | undefined;
  /**
   * Tokens, and USD if they are known; else they are by the session's `price`. Without it an
   * estimate is charged.
   */
  readonly usage?:
    | { readonly input: number; readonly output: number; readonly cost_usd?: number | undefined }
    | undefined;
}

/**
 * Answers the requests of a session instead of a provider. It must end soon after the signal aborts. If it throws an
 * `RlmError` with the code of a failed sub-call, the call fails with that code, otherwise with `provider_error`.
 */
export type Complete = (
  request: CompletionRequest,
  options: { readonly signal: AbortSignal },
) => Promise<Completion | string>;

const figure = v.pipe(v.number(), v.finite(), v.minValue(0));
const CompletionSchema = v.object({
  text: v.string(),
  toolUses: v.optional(v.array(v.custom<GivenUse>(isRecord)), []),
  isCut: v.optional(v.boolean(), false),
  usage: v.optional(v.object({ input: figure, output: figure, cost_usd: v.optional(figure) })),
});

/** Models whose requests a function of the program answers, whatever their names. */
export function ownModels(complete: Complete, fallback = "own/model", price: Model["price"] = null): Models {
  return {
    fallback,
    price: () => price,
    resolve: (name) => ownModel({ id: name ?? fallback, price }, complete),
  };
}

function ownModel({ id, price }: Pick<Model, "id" | "price">, complete: Complete): Model {
  return {
    id,
    price,
    window: null,
    async complete(request, signal) {
      const limit = limited(signal, request.timeoutMs);
      try {
        const { signal: ended, overdue } = limit;
        const asked = fetchingBy(patiently, () => complete(requestOf(id, request), { signal: ended }));
        const given = await Promise.race([asked, overdue]);
        if (given !== null && limit.ended() === null) return answerOf(id, given, price, request);
      } catch (error) {
        if (limit.ended() === null) return failed(id, error);
      } finally {
        limit.release();
      }
      const code = limit.ended() ?? "timeout";
      const message = code === "cancelled" ? "the request was cancelled" : `no answer within ${request.timeoutMs} ms`;
      return noAnswer(code, `${id}: ${message}`);
    },
  };
}

/**
 * Only the time of the call limits what the function fetches. A dispatcher that it names keeps its
 * own limits.
 */
const patiently: Fetching = (plain, input, init) => plain(input, { ...untimed(), ...init });

function requestOf(model: string, request: ModelRequest): CompletionRequest {
  const { system, tools, maxTokens, thinking = "off", schema, sampling } = request;
  const asked = { model, system, messages: sentMessages(request).map(said), tools, maxTokens, thinking };
  return { ...asked, ...withoutUndefined({ schema, sampling }) };
}

function said(message: ModelMessage): CompletionMessage {
  if (message.role === "user") return message;
  if (message.role === "assistant") {
    const { text, toolUses } = message.answer;
    return { role: "assistant", text, toolUses };
  }
  const { use, text, isError } = message;
  return { role: "tool", id: use.id, name: use.name, text, isError };
}

function answerOf(id: string, given: unknown, price: Model["price"], request: ModelRequest): ModelAnswer {
  const read = v.safeParse(CompletionSchema, typeof given === "string" ? { text: given } : given);
  if (!read.success) {
    const [issue] = read.issues;
    const place = v.getDotPath(issue) ?? "the answer";
    const suggestion = "Return a text, or { text, toolUses, usage } with numbers of tokens.";
    const message = `${id}: complete() gave what is not an answer: ${place}: ${issue.message}`;
    return noAnswer("provider_error", message, { retriable: false, suggestion });
  }
  const { isCut, usage: told } = read.output;
  const { text, isThought, isEnded, mended } = withoutThinking(read.output.text, shownTexts(request));
  const toolUses = usesOf(read.output.toolUses, request.tools);
  const own = told ? believed(usageOf(told, price)) : null;
  const usage = own ?? NO_USAGE;
  const charged = own !== null;
  const stop = toolUses.length > 0 ? "tools" : isCut && !isEnded ? "length" : "end";
  if (stop === "end" && text.trim() === "") return { ok: false, usage, charged, error: nothingSaid(id, isThought) };
  const turn = { text, toolUses, stop, raw: null, ...withoutUndefined({ mended }) } as const;
  return { ok: true, usage, charged, turn };
}

function usageOf({ input, output, cost_usd }: NonNullable<Completion["usage"]>, price: Model["price"]): Usage {
  const listed = price ? (input * price.input + output * price.output) / 1e6 : 0;
  return { input, output, cache_read: 0, cache_write: 0, cost_usd: cost_usd ?? listed };
}

function failed(id: string, error: unknown): ModelAnswer {
  const message = `${id}: ${messageOf(error)}`;
  // Its server may be at work: only who made the call decides whether to ask and pay once more.
  if (isClientTimeout(error)) return noAnswer("timeout", message);
  if (!(error instanceof RlmError)) return { ...noAnswer("provider_error", message), ...awayBy(error) };
  const { code, suggestion, retriable = false } = error;
  const known = isFailureCode(code) ? code : "provider_error";
  return noAnswer(known, message, { suggestion, retriable });
}

function awayBy(error: unknown): { readonly isAway?: true } {
  const seen: SeenResponse = { status: null, retryAfterMs: null, networkError: null };
  noteFailure(seen, error);
  return isServerAway(seen, "") ? { isAway: true } : {};
}

/** The failure of a request whose cost is unknown. */
function noAnswer(...why: Parameters<typeof failure>): ModelAnswer {
  return { ok: false, usage: NO_USAGE, charged: false, error: failure(...why) };
}
