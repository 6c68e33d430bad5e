import type { Api, AssistantMessage, AssistantMessageEventStream, Model as PiModel } from "@mariozechner/pi-ai";
import { RlmError } from "../../runtime/index.ts";
import { failure, failureOf, unsent } from "./failure.ts";
import type { Authorization } from "./keys.ts";
import { watchFinish } from "./pi-ai-finish.ts";
import type { PiAi } from "./pi-ai-load.ts";
import { toContext, toTurn, toUsage } from "./pi-ai-messages.ts";
import type { Model, ModelAnswer, ModelRequest, Usage } from "./port.ts";
import { type SeenResponse, watchResponses } from "./response-watch.ts";
import { type Limited, limited } from "./time-limit.ts";

export interface PiAiModelParts {
  readonly model: PiModel<Api>;
  readonly price: Model["price"];
  /** Asked before each request. @throws RlmError, which becomes the answer */
  authorize(): Promise<Authorization> | Authorization;
  /** Asked before the first request: which copy of pi-ai sends. */
  load(): Pick<PiAi, "streamSimple">;
}

/** Longer than any request: an SDK's own limit must not end one before ours does. */
const NO_SDK_TIMEOUT_MS = 2 ** 31 - 1;

/** A model that pi-ai sends to. */
export function piAiModel(parts: PiAiModelParts): Model {
  const { model, price } = parts;
  const id = `${model.provider}/${model.id}`;
  return {
    id,
    price,
    async complete(request, signal) {
      if (signal.aborted) return unsent(cancelled(id));
      const secrets: string[] = [];
      const seen: SeenResponse = { status: null, retryAfterMs: null, networkError: null };
      const limit = limited(signal, request.timeoutMs);
      try {
        const authorization = await parts.authorize();
        secrets.push(authorization.key ?? "", ...Object.values(authorization.headers));
        const stream = watchResponses(seen, () => send(parts, request, authorization, limit.signal));
        return await receive(stream, { model, id, seen, secrets, limit, timeoutMs: request.timeoutMs });
      } catch (error) {
        return unsent(problemOf(error, parts, secrets));
      } finally {
        limit.release();
      }
    },
  };
}

function send(
  { model, load }: PiAiModelParts,
  request: ModelRequest,
  { key, headers }: Authorization,
  signal: AbortSignal,
): AssistantMessageEventStream {
  const most = model.maxTokens > 0 ? model.maxTokens : request.maxTokens;
  return load().streamSimple(model, toContext(request), {
    ...(key === null ? {} : { apiKey: key }),
    headers: { ...headers },
    signal,
    maxTokens: Math.min(request.maxTokens, most),
    maxRetries: 0,
    timeoutMs: NO_SDK_TIMEOUT_MS,
  });
}

interface Exchange {
  readonly model: PiModel<Api>;
  readonly id: string;
  readonly seen: SeenResponse;
  readonly secrets: readonly string[];
  readonly limit: Limited;
  readonly timeoutMs: number;
}

async function receive(stream: AssistantMessageEventStream, exchange: Exchange): Promise<ModelAnswer> {
  const { model, id, seen, secrets, limit } = exchange;
  const unfinishedOf = watchFinish(model.api, stream);
  const message = await Promise.race([stream.result(), limit.overdue]);
  const usage = toUsage(message);
  const failed = { ok: false, usage, charged: isReported(usage) || isRefused(seen) } as const;
  if (limit.ended() === "cancelled") return { ...failed, error: cancelled(id) };
  if (limit.ended() === "timeout" || !message) return { ...failed, error: timedOut(id, exchange.timeoutMs) };
  const unfinished = unfinishedOf(message);
  if (message.stopReason === "error" || message.stopReason === "aborted") {
    const place = { id, api: model.api, host: hostOf(model.baseUrl) };
    return { ...failed, ...failureOf(place, message.errorMessage ?? "no reason given", seen, secrets) };
  }
  if (unfinished === "broken") return { ...failed, error: broken(id) };
  return answerOf(message, id, usage, unfinished === "length" || message.stopReason === "length");
}

function answerOf(message: AssistantMessage, id: string, usage: Usage, cut: boolean): ModelAnswer {
  const turn = toTurn(message, cut);
  const charged = isReported(usage);
  if (turn.stop !== "end" || turn.text.trim() !== "") return { ok: true, usage, charged, turn };
  return { ok: false, usage, charged, error: failure("empty_answer", `${id}: the answer is empty`) };
}

function isReported(usage: Usage): boolean {
  return usage.input + usage.output + usage.cache_read + usage.cache_write > 0;
}

/** Nothing is charged for a request that the server refused, or that never reached it. */
function isRefused(seen: SeenResponse): boolean {
  const unreached = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"];
  return (seen.status ?? 0) >= 400 || (seen.networkError !== null && unreached.includes(seen.networkError));
}

function cancelled(id: string) {
  return failure("cancelled", `${id}: the request was cancelled`);
}

function timedOut(id: string, timeoutMs: number) {
  return failure("timeout", `${id}: no whole answer within ${timeoutMs} ms`);
}

function broken(id: string) {
  return failure("provider_error", `${id}: the answer broke off before its end`);
}

/** Something threw before the request was on its way. */
function problemOf(error: unknown, { model }: PiAiModelParts, secrets: readonly string[]) {
  if (error instanceof RlmError) {
    const code = error.code === "auth_expired" ? "auth_expired" : "no_model_configured";
    return failure(code, error.message, { suggestion: error.suggestion });
  }
  const said = error instanceof Error ? error.message : String(error);
  const seen: SeenResponse = { status: null, retryAfterMs: null, networkError: null };
  const place = { id: `${model.provider}/${model.id}`, api: model.api, host: hostOf(model.baseUrl) };
  return { ...failureOf(place, said, seen, secrets).error, retriable: false };
}

function hostOf(baseUrl: string): string {
  return URL.parse(baseUrl)?.host || baseUrl;
}
