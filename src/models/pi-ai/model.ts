import type {
  Api,
  AssistantMessage,
  AssistantMessageEvent,
  AssistantMessageEventStream,
  Model as PiModel,
} from "belay-pi-ai";
import { LIMITS, RlmError, THINKING, THINKING_TOKENS, type Thinking } from "../../../runtime/index.ts";
import { messageOf } from "../../platform/errors.ts";
import { shownAddress } from "../../platform/outbound.ts";
import { failure, nothingSaid, unsent } from "../failure.ts";
import type { Authorization } from "../keys/keys.ts";
import { endOf } from "../model-ends.ts";
import type { Model, ModelAnswer, ModelRequest, ModelTurn, SubCallError, Usage } from "../port.ts";
import { isLocalServer, isPrivateAddress, withinWindow } from "../server-window.ts";
import { type Limited, limited } from "../time-limit.ts";
import { believed, estimateRequest, NO_USAGE, tokensOf } from "../usage.ts";
import type { AskedModel } from "./answer-form.ts";
import { type Asking, openAsking } from "./asking.ts";
import { batchAccount, batchFactor, batchPriceOf, type Posting, posting, providerFor } from "./batches.ts";
import type { ListedModel, PiAi } from "./catalog.ts";
import { toContext, toTurn } from "./messages.ts";
import { explain, isUnreached, type Place, type Refusal, statusOf, UNNAMED, withheldBy } from "./refusal.ts";
import { boundReplies, type ReplyBounds } from "./reply-bounds.ts";
import type { SeenResponse } from "./response-watch.ts";
import { type StopReason, stopReasonOf } from "./wire.ts";

interface PiAiModelParts extends Omit<ListedModel, "headers"> {
  /** The address of the model came from --base-url. */
  readonly isNamed?: boolean;
  /** Requests may go by batches of its provider, if Belay knows these. */
  readonly takesBatches?: boolean;
  /** Parts of requests that the user has taken away. */
  readonly leavesOut?: AskedModel["leavesOut"];
  /** Asked before each request. @throws RlmError, which becomes the answer */
  authorize(): Promise<Authorization> | Authorization;
  /** The copy of pi-ai that sends. Asked before each request, outside of its time. */
  load(): Pick<PiAi, "streamSimple">;
}

/**
 * A model that pi-ai sends to. On a server of the user's own Belay looks after its window, and on
 * others pi-ai does too.
 */
export function piAiModel(parts: PiAiModelParts): Model {
  const { model, isNamed = false } = parts;
  const isOwn = model.api === "openai-completions" && (isNamed || isPrivateAddress(model.baseUrl));
  if (!isOwn) return withinWindow(sendingModel(parts), null);
  const serverOf = async () => ({ baseUrl: model.baseUrl, id: model.id, key: (await parts.authorize()).key });
  return withinWindow(sendingModel({ ...parts, model: { ...model, contextWindow: 0 } }), serverOf);
}

/** APIs whose providers keep the beginnings of requests in a cache, as far as it is known. */
const CACHING = [
  "openai-completions",
  "openai-responses",
  "azure-openai-responses",
  "openai-codex-responses",
  "anthropic-messages",
  "google-generative-ai",
  "google-vertex",
];

/** True if it is worth it to send one of several requests with the same beginning ahead. */
const cachesBeginnings = (api: string): boolean => CACHING.includes(api);

function sendingModel(parts: PiAiModelParts): Model {
  const { model, price, window, isNamed = false, near = [], leavesOut = [] } = parts;
  const { successor } = endOf(`${model.provider}/${model.id}`) ?? {};
  const place: Place = {
    id: `${model.provider}/${model.id}`,
    api: model.api,
    address: addressOf(model.baseUrl),
    isNamed,
    near: successor === undefined ? near : [successor, ...near],
  };
  const provider = parts.takesBatches ? providerFor(model, isNamed) : undefined;
  const factor = provider ? batchFactor(provider, model) : 1;
  const batchPrice = batchPriceOf(price, factor);
  return {
    id: place.id,
    price,
    window,
    unlisted: parts.near !== undefined,
    caches: cachesBeginnings(model.api) && !leavesOut.includes("cache"),
    server: place.address,
    isLocal: isLocalServer(model.provider, model.baseUrl),
    ...(batchPrice ? { batchPrice } : {}),
    ...(provider
      ? { batchAccount: async () => batchAccount(provider, model, place.address, await parts.authorize()) }
      : {}),
    async complete(request, signal) {
      if (signal.aborted) return unsent(cancelled(place));
      const { post } = request;
      if (post && !provider)
        return unsent(failure("policy_violation", `${place.id}: Belay has no batches of its provider`, NOW));
      const secrets: string[] = [];
      const seen: SeenResponse = { status: null, retryAfterMs: null, networkError: null };
      let limit: Limited | undefined;
      try {
        const { streamSimple } = parts.load();
        const authorization = await parts.authorize();
        secrets.push(authorization.key ?? "", ...Object.values(authorization.headers));
        limit = limited(signal, post ? Number.POSITIVE_INFINITY : request.timeoutMs);
        const { baseUrl = model.baseUrl } = authorization;
        const sent = {
          ...model,
          baseUrl,
          ...(isNamed ? { reasoning: request.thinking !== undefined && request.thinking !== "off" } : {}),
        };
        const asking = openAsking({ model: sent, isNamed, leavesOut }, request);
        const options = { ...optionsOf(request, sent, authorization, limit.signal), onPayload: asking.shape };
        const send = () => streamSimple(sent, asking.put(toContext({ ...request, tools: asking.tools })), options);
        const tokens = estimateRequest(request, null).input_tokens;
        const refusal = { place: { ...place, address: addressOf(baseUrl) }, seen, secrets, tokens, asking };
        if (!post || !provider) {
          const bounds = replyBounds(withinModel(model, request.maxTokens));
          const answer = await receive(boundReplies(bounds, model.api, seen, send), request, limit, refusal);
          return bounds.isTooLong && !answer.ok ? { ...answer, error: tooMuch(place, bounds) } : answer;
        }
        const account = batchAccount(provider, model, place.address, authorization);
        const call: Posting = { account, model: place.id, post, signal: limit.signal, seen };
        const answer = await receive(posting(call, send), request, limit, refusal);
        return asRow(answer, call, batchPrice ? factor : 1);
      } catch (error) {
        const answer = unsent(unsendable(error, { place, seen, secrets, tokens: 0 }));
        return error instanceof RlmError ? { ...answer, ends: "run" } : answer;
      } finally {
        limit?.release();
      }
    },
  };
}

/**
 * The bounds of replies with so many tokens. Each token may be an event of its own, which takes
 * some hundred bytes.
 */
function replyBounds(tokens: number): ReplyBounds {
  const BYTES_A_TOKEN = 1024;
  return { most: LIMITS.replyBytes + BYTES_A_TOKEN * tokens };
}

/** Longer than any request: an SDK's own limit must not end one before ours does. */
const NO_SDK_TIMEOUT_MS = 2 ** 31 - 1;

const NOW = { suggestion: "Make the call with the delivery now." };

function optionsOf(
  request: ModelRequest,
  model: PiModel<Api>,
  { key, headers }: Authorization,
  signal: AbortSignal,
): NonNullable<Parameters<PiAi["streamSimple"]>[2]> {
  return {
    ...(key === null ? {} : { apiKey: key }),
    headers: { ...headers },
    signal,
    ...thinkingOptions(model, request.thinking ?? "off", withinModel(model, request.maxTokens)),
    cacheRetention: request.cache,
    ...(request.conversation === undefined ? {} : { sessionId: request.conversation }),
    maxRetries: 0,
    timeoutMs: NO_SDK_TIMEOUT_MS,
    // A conversation that continues where a server keeps it would be lost with the server's copy.
    disableContinuation: true,
    // pi-ai keeps a WebSocket for minutes after a request of a conversation, and the process would
    // wait for it.
    transport: "sse",
    // Replies over HTTP/2 would be read without a bound.
    env: { AWS_BEDROCK_FORCE_HTTP1: "1" },
  };
}

function withinModel({ maxTokens }: PiModel<Api>, wanted: number): number {
  return maxTokens > 0 ? Math.min(wanted, maxTokens) : wanted;
}

async function receive(
  stream: AssistantMessageEventStream,
  request: ModelRequest,
  limit: Limited,
  refusal: Omit<Refusal, "said"> & { readonly asking: Asking },
): Promise<ModelAnswer> {
  const { place, seen, asking } = refusal;
  let awaited = "first token";
  const argumentTexts = follow(stream, () => {
    awaited = "whole answer";
    request.begun?.();
  });
  const message = await Promise.race([stream.result(), limit.overdue]);
  const usage = toUsage(message);
  const failed = { ok: false, usage, charged: isReported(usage) || isFree(seen), ...asking.sent() } as const;
  if (limit.ended() === "cancelled") return { ...failed, error: cancelled(place) };
  if (limit.ended() === "timeout" || !message)
    return { ...failed, error: failure("timeout", `${place.id}: no ${awaited} within ${request.timeoutMs} ms`) };
  const stopped = stopReasonOf(message);
  const said = message.errorMessage ?? "no reason given";
  const error = notAnAnswer({ ...refusal, said }, stopped);
  if (error) return { ...failed, error };
  const isWhole = stopped?.meaning === "whole" || stopped?.meaning === "cut";
  if (!isWhole && (message.stopReason === "error" || message.stopReason === "aborted")) {
    const explained = explain({ ...refusal, said });
    // The model's words are paid for, whatever its server makes of them.
    if (explained.unread !== undefined) return { ...failed, ...explained, charged: isReported(usage) };
    const isAdapted = !explained.isTooLong && asking.adapt(said, statusOf(said, seen));
    return { ...failed, ...explained, ...(isAdapted ? { isAdapted } : {}) };
  }
  if (seen.end === "missing")
    return { ...failed, error: failure("provider_error", `${place.id}: the answer broke off before its end`) };
  const isCut = seen.end === "cut" || message.stopReason === "length" || stopped?.meaning === "cut";
  const facts = {
    request,
    tools: asking.tools,
    isCut,
    argumentTexts: await argumentTexts,
    seen,
  };
  const { turn, isThought } = toTurn(message, facts);
  const answer: ModelAnswer = isEmpty(turn)
    ? { ok: false, usage, charged: isReported(usage), error: nothingSaid(place.id, isThought) }
    : { ok: true, usage, charged: isReported(usage), turn };
  return { ...answer, ...asking.sent() };
}

/**
 * The usage of an answer; none if the provider tells what no usage can be: a budget would take it
 * for more room, or for no limit.
 */
function toUsage(message: AssistantMessage | null): Usage {
  if (!message) return NO_USAGE;
  const { input, output, cacheRead, cacheWrite, cost, reasoning } = message.usage;
  const usage = believed({ input, output, cache_read: cacheRead, cache_write: cacheWrite, cost_usd: cost.total });
  if (usage === null) return NO_USAGE;
  const thought = reasoning ?? 0;
  const saved_usd = savedBy(message.usage);
  return {
    ...usage,
    ...(thought > 0 && thought <= usage.output ? { reasoning: thought } : {}),
    ...(saved_usd === 0 ? {} : { saved_usd }),
  };
}

/** USD by which tokens of a cache cost less than other input; 0 if that is not known. */
function savedBy({ input, cacheRead, cacheWrite, cost }: AssistantMessage["usage"]): number {
  const saved = ((cacheRead + cacheWrite) * cost.input) / input - cost.cacheRead - cost.cacheWrite;
  return cacheRead + cacheWrite > 0 && cost.input > 0 && Number.isFinite(saved) ? saved : 0;
}

/**
 * The arguments of tool calls as they were sent, by the place of the call in the message: older
 * copies of pi-ai complete the ones that end too early.
 *
 * @param begun called with each event of the answer
 */
async function follow(
  stream: AsyncIterable<AssistantMessageEvent>,
  begun: () => void,
): Promise<ReadonlyMap<number, string>> {
  const texts = new Map<number, string>();
  for await (const event of stream) {
    if (event.type === "done" || event.type === "error") break;
    if (event.type !== "start") begun();
    if (event.type !== "toolcall_delta") continue;
    texts.set(event.contentIndex, (texts.get(event.contentIndex) ?? "") + event.delta);
  }
  return texts;
}

/**
 * The failure of a reply whose provider says that it is no answer; null: it says nothing of the
 * kind.
 */
function notAnAnswer(refusal: Refusal, stopped: StopReason | null): SubCallError | null {
  const { place, seen, said } = refusal;
  if (seen.refusal !== undefined) return withheldBy(refusal, seen.refusal);
  if (stopped?.meaning === "unread") {
    const message = `${place.id}: the provider could not read the model's call (${stopped.reason})`;
    return failure("empty_answer", message, { suggestion: "Ask again, or name another model." });
  }
  if (stopped?.meaning === "paused")
    return failure("provider_error", `${place.id}: the provider paused the turn (${stopped.reason})`, PAUSED);
  if (stopped?.meaning !== "withheld") return null;
  const isNamed = said.includes(stopped.reason) || said === UNNAMED;
  return withheldBy(refusal, isNamed ? `the provider's filter withheld the answer (${stopped.reason})` : said);
}

/** Only tools of the provider's own make it pause, and none are asked for. */
const PAUSED = { retriable: false, suggestion: "Name another model, or ask for less in one call." };

/**
 * The answer of a row. A key or rate that was at fault may be right by now: the failure is of this
 * request alone.
 */
function asRow(answer: ModelAnswer, { failure: error }: Posting, ofCost: number): ModelAnswer {
  const { cost_usd, saved_usd } = answer.usage;
  const saved = saved_usd === undefined ? {} : { saved_usd: saved_usd * ofCost };
  const usage = { ...answer.usage, cost_usd: cost_usd * ofCost, ...saved };
  if (answer.ok) return { ...answer, usage };
  const { retryAfterMs, ends, ...failed } = answer;
  return { ...failed, usage, error: error ?? answer.error };
}

function isEmpty({ stop, text }: ModelTurn): boolean {
  return stop === "end" && text.trim() === "";
}

function isReported(usage: Usage): boolean {
  return tokensOf(usage) > 0;
}

/** Nothing is charged for a request that the server refused, or that never reached it. */
function isFree(seen: SeenResponse): boolean {
  return (seen.status ?? 0) >= 400 || isUnreached(seen);
}

function cancelled({ id }: Place): SubCallError {
  return failure("cancelled", `${id}: the request was cancelled`);
}

function tooMuch({ id }: Place, { most }: ReplyBounds): SubCallError {
  const suggestion = "Ask for less, or ask another model: its server does not end its answer.";
  return failure("provider_error", `${id}: the reply has more than ${most} bytes`, { retriable: false, suggestion });
}

/** Something threw before the request was on its way: it would do so again. */
function unsendable(error: unknown, refusal: Omit<Refusal, "said">): SubCallError {
  if (error instanceof RlmError) {
    const code = error.code === "auth_expired" ? "auth_expired" : "no_model_configured";
    return failure(code, error.message, { suggestion: error.suggestion });
  }
  const said = messageOf(error);
  return { ...explain({ ...refusal, said }).error, retriable: false };
}

/** The base URL without credentials and query, in which keys are passed. */
function addressOf(baseUrl: string): string {
  const url = URL.parse(baseUrl);
  return url?.host ? shownAddress(url) : baseUrl;
}

/** Tokens that are always left for the answer. */
const ANSWER = 1024;

/**
 * pi-ai's options for a level. `maxTokens` bounds thinking and answer together: where pi-ai adds
 * the budget of thinking to it, it gets so much less.
 */
export function thinkingOptions(model: PiModel<Api>, wanted: Thinking, maxTokens: number) {
  const level = nearestLevel(model, wanted);
  if (level === "off") return { maxTokens };
  const budget = Math.min(THINKING_TOKENS[level], Math.max(0, maxTokens - ANSWER));
  const thinkingBudgets = { minimal: budget, low: budget, medium: budget, high: budget };
  if (!addsBudget(model)) return { maxTokens, reasoning: level, thinkingBudgets };
  // A budget of less than 1024 is refused.
  return budget < 1024 ? { maxTokens } : { maxTokens: maxTokens - budget, reasoning: level, thinkingBudgets };
}

/**
 * The level, else the next one above that the model has, else the next below: models that always
 * think have no `off`.
 */
export function nearestLevel(model: PiModel<Api>, wanted: Thinking): Thinking {
  const has = THINKING.filter((level) => hasLevel(model, level));
  const at = THINKING.indexOf(wanted);
  return has.find((level) => THINKING.indexOf(level) >= at) ?? has.at(-1) ?? "off";
}

const BEYOND_HIGH: readonly Thinking[] = ["xhigh", "max"];

function hasLevel({ api, reasoning, thinkingLevelMap }: PiModel<Api>, level: Thinking): boolean {
  if (!reasoning) return level === "off";
  // pi-ai lists them for models of Google, and then refuses to send them.
  if (api.startsWith("google-") && BEYOND_HIGH.includes(level)) return false;
  const mapped: unknown = Reflect.get(thinkingLevelMap ?? {}, level);
  if (mapped === null) return false;
  return mapped !== undefined || !BEYOND_HIGH.includes(level);
}

/** Protocols in which pi-ai sends maxTokens and the budget as one limit. */
function addsBudget({ api, compat }: PiModel<Api>): boolean {
  if (api !== "anthropic-messages" && api !== "bedrock-converse-stream") return false;
  return Reflect.get(compat ?? {}, "forceAdaptiveThinking") !== true;
}
