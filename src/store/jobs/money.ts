import type { Amount, RunLimits } from "./port.ts";

/** What a run may spend, and how it stands. */
export interface Purse {
  readonly limits: RunLimits;
  readonly spent: Amount;
  readonly held: Amount;
  readonly doubtful: Amount;
}

/** Whether so much more may be held: now, once others have given back what they hold, or never under these limits. */
export function mayHold({ limits, spent, held, doubtful }: Purse, amount: Amount): "held" | "wait" | "never" {
  const fits = (sums: readonly Amount[]) =>
    EACH.every((kind) => {
      const limit = limits[kind];
      return limit === null || sums.reduce((sum, one) => sum + one[kind], amount[kind]) <= limit;
    });
  if (fits([spent, held, doubtful])) return "held";
  return fits([spent, doubtful]) ? "wait" : "never";
}

export const plus = (a: Amount, b: Amount): Amount => ({
  nanodollars: a.nanodollars + b.nanodollars,
  tokens: a.tokens + b.tokens,
  sub_calls: a.sub_calls + b.sub_calls,
});

export const minus = (a: Amount, b: Amount): Amount => ({
  nanodollars: a.nanodollars - b.nanodollars,
  tokens: a.tokens - b.tokens,
  sub_calls: a.sub_calls - b.sub_calls,
});

const EACH = ["nanodollars", "tokens", "sub_calls"] as const;

/** Timers wake late, so requests are spaced a little wider than the rate says. */
const TIGHTER = 0.9;

/** ms between two units of a rate. */
export const intervalOf = (perMinute: number) => 60_000 / perMinute / TIGHTER;
