import { createHash } from "node:crypto";
import type { Api, Model as PiModel } from "belay-pi-ai";
import { isRecord } from "../../platform/json.ts";
import { macOf } from "../../platform/sealed.ts";
import type { Authorization } from "../keys/authorize.ts";
import { BATCH_APIS, type BatchAccount, type BatchApi, type Model, type Price } from "../port.ts";

/** Names and hosts of providers without batches that Belay knows, and of subscriptions. */
const REFUSED = /azure|vertex|aiplatform|bedrock|mistral|openrouter|copilot|codex|chatgpt|cloudflare/;

/**
 * The API in which a model's provider takes batches; undefined: Belay has no batches of that
 * provider.
 */
export function batchApiOf({ provider, api, baseUrl }: PiModel<Api>, isNamed: boolean): BatchApi | undefined {
  // The provider of a model at a named server is any word.
  if (REFUSED.test(`${isNamed ? "" : provider} ${URL.parse(baseUrl)?.host ?? baseUrl}`)) return undefined;
  return BATCH_APIS.find((known) => known === api);
}

/** True if keys are those of a login, which pays for no batches. */
export function isLogin({ key, expires }: Authorization): boolean {
  return Number.isFinite(expires) || (key?.includes("sk-ant-oat") ?? false);
}

/** The price of requests by a batch: at OpenAI, Anthropic and Google themselves half of each. */
export function batchPriceOf(price: Model["price"], { baseUrl }: PiModel<Api>): Price | undefined {
  return price && HALF_PRICE.test(URL.parse(baseUrl)?.hostname ?? "") ? halved(price) : undefined;
}

const HALF_PRICE = /^(?:(?:\w+\.)?api\.openai\.com|api\.anthropic\.com|generativelanguage\.googleapis\.com)$/;

function halved({ input, output, tiers }: Price): Price {
  const half = { input: input / 2, output: output / 2 };
  return tiers ? { ...half, tiers: tiers.map((tier) => ({ ...tier, ...halved(tier) })) } : half;
}

/** @param address the base URL without credentials */
export function batchAccount(
  api: BatchApi,
  model: PiModel<Api>,
  address: string,
  { key, headers: own }: Authorization,
): BatchAccount {
  const headers = new Headers(key === null ? {} : keyIn(api, key));
  if (api === "anthropic-messages") {
    headers.set("anthropic-version", "2023-06-01");
    for (const beta of betasOf(model)) headers.append("anthropic-beta", beta);
  }
  for (const [name, value] of Object.entries({ ...model.headers, ...own })) headers.set(name, value);
  // Settings may give the key in a header.
  const [usual = ""] = Object.keys(keyIn(api, ""));
  const given = headers.get(usual) ?? headers.get("authorization");
  const secret = key ?? given?.replace(/^Bearer /, "") ?? "";
  const id = `${api} ${address} ${createHash("sha256").update(secret).digest("hex").slice(0, 8)}`;
  return {
    id,
    api,
    baseUrl: model.baseUrl,
    model: model.id,
    headers: Object.fromEntries(headers),
    prove: (fields) => macOf(secret, fields),
  };
}

function keyIn(api: BatchApi, key: string): Record<string, string> {
  if (api === "anthropic-messages") return { "x-api-key": key };
  return api === "google-generative-ai" ? { "x-goog-api-key": key } : { authorization: `Bearer ${key}` };
}

/**
 * Betas that the bodies of pi-ai need. A batch names them once for all of its rows, so they are
 * those of any request.
 */
function betasOf({ compat, reasoning }: PiModel<Api>): string[] {
  const has: Readonly<Record<string, unknown>> = isRecord(compat) ? compat : {};
  return [
    ...(reasoning && !has.forceAdaptiveThinking ? ["interleaved-thinking-2025-05-14"] : []),
    ...(has.allowedFallbackModels ? ["server-side-fallback-2026-07-01"] : []),
    ...(has.supportsMidConvoEffort
      ? ["mid-conversation-output-config-2026-07-01", "thinking-binding-controls-2026-08-01"]
      : []),
    ...(has.supportsMidConvoToolChanges ? ["inline-tools-2026-09-15"] : []),
  ];
}
