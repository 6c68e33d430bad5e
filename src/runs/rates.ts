import { createHash } from "node:crypto";
import { keyVariable } from "../models/index.ts";
import type { Jobs, Rate } from "../store/index.ts";
import type { WorkerSession } from "./api.ts";
import type { ProviderRate } from "./spec.ts";

export type Rates = ReturnType<typeof openRates>;

/** Facts that tell one account at a provider from another. */
type Account = Pick<WorkerSession, "baseUrl" | "apiKeyEnv"> & { readonly env: NodeJS.ProcessEnv };

interface RatesParts {
  readonly jobs: Pick<Jobs, "slot" | "hush">;
  readonly rates: readonly ProviderRate[];
  readonly account: Account;
}

/** The rates of a run's providers, which all workers with the same key share. */
export function openRates({ jobs, rates, account }: RatesParts) {
  const of = (model: string) => {
    const provider = model.slice(0, model.indexOf("/"));
    const rated = rates.filter((rate) => rate.provider === provider);
    return rated.map(({ of, perMinute }) => ({ of, rate: { key: rateKey(provider, of, account), perMinute } }));
  };
  return {
    /** Takes the place of a request. Answers how long to wait for it, ms; 0 for a provider without a rate. */
    async turn(model: string, tokens: number): Promise<number> {
      const waits = of(model).map(({ of, rate }) => jobs.slot(rate, of === "tokens" ? tokens : 1));
      return Math.max(0, ...(await Promise.all(waits)));
    },
    /** The provider said to wait. */
    async hush(model: string, ms: number): Promise<void> {
      await Promise.all(of(model).map(({ rate }) => jobs.hush(rate, ms)));
    },
  };
}

/** Provider, base URL and the beginning of a hash of the key: no key can be found from it. */
function rateKey(provider: string, of: ProviderRate["of"], { baseUrl, apiKeyEnv, env }: Account): Rate["key"] {
  const key = env[apiKeyEnv ?? keyVariable(`${provider}/`) ?? ""] ?? "";
  const digest = createHash("sha256").update(key).digest("hex").slice(0, 8);
  return [provider, baseUrl ?? "", digest, of].join(" ");
}
