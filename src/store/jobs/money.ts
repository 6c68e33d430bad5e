import type { Amount, Held, RunRow } from "./port.ts";

type Purse = Pick<RunRow, "limits" | "spent" | "held" | "doubtful">;

/** The answer to a wish to hold more: it may be held now, or once others have given back what they hold. Else the limit that has no room for it. */
export function mayHold({ limits, spent, held, doubtful }: Purse, amount: Amount): Held {
  const spentLimit = (sums: readonly Amount[]) =>
    EACH.find((kind) => {
      const limit = limits[kind];
      return limit !== null && sums.reduce((sum, one) => sum + one[kind], amount[kind]) > limit;
    });
  if (spentLimit([spent, held, doubtful]) === undefined) return "held";
  return spentLimit([spent, doubtful]) ?? "wait";
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
