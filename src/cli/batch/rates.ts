import type { ProviderRate } from "../../jobs/index.ts";
import { commandLine, UsageError } from "../flags/usage.ts";

/** `anthropic=60/min,100000tok/min` as rates of the provider. @throws UsageError */
export function ratesIn(typed: readonly string[]): ProviderRate[] {
  return typed.flatMap((text) => {
    const [, provider, rates] = /^([^\s=]+)=(.+)$/s.exec(text) ?? [];
    if (provider === undefined || rates === undefined) throw wrong(text);
    return rates.split(",").map((rate) => rateIn(provider, rate, text));
  });
}

const PER_MINUTE = { s: 60, min: 1, h: 1 / 60 };

function rateIn(provider: string, rate: string, text: string): ProviderRate {
  const [, number, tokens, unit] = /^(\d{1,12}(?:\.\d{1,3})?)(tok)?\/(s|min|h)$/.exec(rate.trim()) ?? [];
  const perMinute = Number(number) * (unit === "s" || unit === "min" || unit === "h" ? PER_MINUTE[unit] : 0);
  if (!(perMinute > 0)) throw wrong(text);
  return { provider, perMinute, of: tokens === undefined ? "requests" : "tokens" };
}

function wrong(text: string): UsageError {
  return new UsageError(
    `--rate is ${text}: it takes a provider and how much it is sent, such as anthropic=60/min or anthropic=60/min,100000tok/min`,
    commandLine(["help", "batch"]),
  );
}
