import { createHash } from "node:crypto";
import type { Api, Model as PiModel } from "belay-pi-ai";
import type { Json } from "../../../runtime/index.ts";
import { messageOf } from "../../platform/errors.ts";
import { isRecord } from "../../platform/json.ts";
import { macOf } from "../../platform/sealed.ts";
import { type BatchProvider, batchProviderOf } from "../../provider-batches/providers/index.ts";
import { failure } from "../failure.ts";
import type { Authorization } from "../keys/keys.ts";
import type { BatchAccount, Model, Post, PostedAnswer, Price, SubCallError } from "../port.ts";
import { fetchingBy, type SeenResponse } from "./response-watch.ts";
import { wholeAnswer } from "./wire.ts";

/** The provider that takes a model's requests by batch; undefined: Belay has no batches of it. */
export function providerFor({ provider, api, baseUrl }: PiModel<Api>, isNamed: boolean): BatchProvider | undefined {
  const found = batchProviderOf(api);
  // The provider of a model at a named server is any word.
  const names = `${isNamed ? "" : provider} ${URL.parse(baseUrl)?.host ?? baseUrl}`;
  return found?.refusal(names) ? undefined : found;
}

/** True if keys are those of a login, which pays for no batches. */
export function isLogin({ key, expires }: Authorization): boolean {
  return Number.isFinite(expires) || (key?.includes("sk-ant-oat") ?? false);
}

/** Factor of the price of a model's requests by batch; 1 if it is not known to be lower. */
export const batchFactor = (provider: BatchProvider, { baseUrl }: PiModel<Api>): number =>
  provider.price(URL.parse(baseUrl)?.hostname ?? "");

/** The price of requests by batch; undefined: it is not known to be lower. */
export const batchPriceOf = (price: Model["price"], factor: number): Price | undefined =>
  price && factor < 1 ? scaled(price, factor) : undefined;

function scaled({ input, output, tiers }: Price, factor: number): Price {
  const rates = { input: input * factor, output: output * factor };
  return tiers ? { ...rates, tiers: tiers.map((tier) => ({ ...tier, ...scaled(tier, factor) })) } : rates;
}

/** @param address the base URL without credentials */
export function batchAccount(
  provider: BatchProvider,
  model: PiModel<Api>,
  address: string,
  { key, headers: own }: Authorization,
): BatchAccount {
  const { keyHeader } = provider;
  const headers = new Headers();
  if (key !== null) headers.set(keyHeader, keyHeader === "authorization" ? `Bearer ${key}` : key);
  for (const [name, value] of provider.headers?.(model) ?? []) headers.append(name, value);
  for (const [name, value] of Object.entries({ ...model.headers, ...own })) headers.set(name, value);
  // Settings may give the key in a header.
  const given = headers.get(keyHeader) ?? headers.get("authorization");
  const secret = key ?? given?.replace(/^Bearer /, "") ?? "";
  const id = `${model.api} ${address} ${createHash("sha256").update(secret).digest("hex").slice(0, 8)}`;
  return {
    id,
    api: model.api,
    baseUrl: model.baseUrl,
    model: model.id,
    headers: Object.fromEntries(headers),
    prove: (fields) => macOf(secret, fields),
  };
}

export interface Posting {
  readonly account: Pick<BatchAccount, "id" | "api" | "prove">;
  /** `provider/id`. */
  readonly model: string;
  readonly post: Post;
  readonly signal: AbortSignal;
  /** Receives the status of the row. */
  readonly seen: SeenResponse;
  isPosted?: true;
  /** Set if no row answers the request. */
  failure?: SubCallError;
}

/**
 * Runs `send`. The request that it makes with `fetch` is posted instead, and its row is the stream
 * that pi-ai reads.
 */
export function posting<T>(call: Posting, send: () => T): T {
  return fetchingBy((_, ...request) => responseTo(call, new Request(...request)), send);
}

async function responseTo(call: Posting, request: Request): Promise<Response> {
  if (call.isPosted) throw new Error("a request that goes by a batch is posted once");
  call.isPosted = true;
  const { account, model, post, signal, seen } = call;
  try {
    const { id, prove } = account;
    const posted = { account: { id, prove }, model, body: withoutStream(await request.text()) };
    // Work that `post` starts fetches for itself.
    const row = await fetchingBy(null, () => post(posted, signal));
    if ("failure" in row) call.failure = row.failure;
    else {
      seen.status = row.status;
      const response = responseOf(account.api, row, seen);
      if (response) return response;
      call.failure = failure("provider_error", `${model}: the row of the batch is not an answer of its API`);
    }
  } catch (error) {
    if (!signal.aborted) call.failure = failure("provider_error", `${model}: ${messageOf(error)}`);
  }
  throw new Error("no row answers the request");
}

/** The body of a request without what only streams have. */
function withoutStream(text: string): Json {
  const sent: { readonly [key: string]: Json } = JSON.parse(text);
  const { stream, stream_options, tool_stream, ...body } = sent;
  if (!Array.isArray(body.tools)) return body;
  const tools = body.tools.map((tool: Json): Json => {
    if (!isRecord(tool)) return tool;
    const { eager_input_streaming, ...rest } = tool;
    return rest;
  });
  return { ...body, tools };
}

/**
 * null for a row that is not the answer to a request: its status is not one, or its body has
 * another form or is too deep.
 */
function responseOf(
  api: string,
  { status, body }: Exclude<PostedAnswer, { failure: SubCallError }>,
  seen: SeenResponse,
): Response | null {
  if (status >= 400) return Response.json(body, { status });
  return status >= 200 && status < 300 && isRecord(body) ? wholeAnswer(api, body, seen) : null;
}
