import { createHash } from "node:crypto";
import type { Api, Model as PiModel } from "belay-pi-ai";
import { macOf } from "../../platform/sealed.ts";
import { type BatchProvider, batchProviderOf } from "../../provider-batches/providers/index.ts";
import type { Authorization } from "../keys/authorize.ts";
import type { BatchAccount, Model, Price } from "../port.ts";

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
