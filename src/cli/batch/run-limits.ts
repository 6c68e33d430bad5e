import { hasCode } from "../../../runtime/index.ts";
import type { Models } from "../../models/index.ts";
import { amount, dollars } from "../../platform/figures.ts";
import type { HeldByAll, HeldJobs, ProviderRate } from "../../runs/index.ts";
import { readConfig, type Settings } from "../../settings/index.ts";
import type { RunLimits } from "../../store/index.ts";
import { RUN_LIMITS } from "../flags/runs.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { configPlaces, modelsOf, unknownPrice } from "../session/settings.ts";

/**
 * Refuses a limit of dollars for a run whose model has no price: each of its jobs would fail by it.
 * @param nanodollars null: there is no such limit
 * @param model of the run; null: its jobs ask none
 * @param models one of which may know the price
 * @throws RlmError `invalid_argument` naming the flag
 */
export function checkRunPrice(nanodollars: number | null, model: string | null, models: readonly Priced[]): void {
  if (nanodollars === null || model === null || models.some(({ price }) => price(model) !== null)) return;
  const { nanodollars: cost, tokens, sub_calls } = RUN_LIMITS;
  throw unknownPrice(model, `--${cost.name}`, `Limit by --${tokens.name} or --${sub_calls.name}.`);
}

type Priced = Pick<Models, "price">;

/** The line that works on the run may leave out the server that this host's settings name. */
export function modelsOfHost(): Priced[] {
  const settings = readConfig({}, configPlaces());
  const { base_url: _, ...elsewhere } = settings;
  return [settings, elsewhere].map((known) => ({
    price(name) {
      try {
        return modelsOf(known).price(name);
      } catch (error) {
        // An unknown provider has no price either.
        if (hasCode(error, "no_model_configured")) return null;
        throw error;
      }
    },
  }));
}

/** `anthropic=60/min,100000tok/min` as rates of the provider. @throws UsageError */
export function ratesIn(typed: readonly string[]): ProviderRate[] {
  return typed.flatMap((text) => {
    const [, provider = "", rates] = /^([^\s=]+)=(.+)$/s.exec(text) ?? [];
    const parsed = rates?.split(",").map((rate) => rateIn(provider, rate)) ?? [null];
    if (parsed.every((rate) => rate !== null)) return parsed;
    const takes = "it takes a provider and how much it is sent, such as anthropic=60/min, anthropic=10/2min";
    const problem = `--rate is ${text}: ${takes} or anthropic=60/min,100000tok/min`;
    throw new UsageError(problem, commandLine(["help", "batch"]));
  });
}

const PER_MINUTE: Readonly<Record<string, number>> = { s: 60, min: 1, h: 1 / 60 };

/** `60/min`, `10/2min`, `9000tok/30s`; null for anything else. */
function rateIn(provider: string, rate: string): ProviderRate | null {
  const parts = /^(\d{1,12}(?:\.\d{1,3})?)(tok)?\/(\d{1,6})?(s|min|h)$/.exec(rate.trim()) ?? [];
  const [, number, tokens, units = "1", unit = ""] = parts;
  const perMinute = (Number(number) * (PER_MINUTE[unit] ?? 0)) / Number(units);
  if (!(perMinute > 0 && Number.isFinite(perMinute))) return null;
  return { provider, perMinute, of: tokens === undefined ? "requests" : "tokens" };
}

/**
 * The price by batch, as a share of the usual one; null: the price is not known, or there is no
 * model or key.
 */
export function batchShare(settings: Settings): number | null {
  try {
    const { price, batchPrice = price } = modelsOf(settings).resolve(null);
    return price && batchPrice && price.input > 0 ? batchPrice.input / price.input : null;
  } catch {
    return null;
  }
}

const LIMIT_OF = { tokens: "tokens", dollars: "nanodollars", "sub-calls": "sub_calls" } as const;
const WORD_OF = { tokens: "tokens", nanodollars: "dollars", sub_calls: "sub-calls" } as const;

/** `179 jobs wait for tokens held by 121 calls: raise --run-max-tokens to 1250000`. */
export function heldJobsText({ jobs, by, of, raise_to }: HeldJobs): string {
  const wait = `${amount(jobs, "job waits", "jobs wait")} for ${of} held by ${amount(by, "call")}`;
  return `${wait}: raise --${RUN_LIMITS[LIMIT_OF[of]].name} to ${raise_to}`;
}

/** The same for calls by batch of all jobs, before any is sent. */
export function heldByAllText(limits: RunLimits, { of, share, raise_to }: HeldByAll): string {
  const limit = limits[of] ?? 0;
  const room = of === "nanodollars" ? dollars(limit / 1e9) : `${limit} ${WORD_OF[of]}`;
  const wait = `by batch ${room} have room for about ${share} % of the calls at once, and the others wait`;
  return `${wait} for the first wave: raise --${RUN_LIMITS[of].name} to ${raise_to}`;
}
