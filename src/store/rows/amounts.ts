import type { Amount, Held, RunRow } from "../job-store.ts";

type Purse = Pick<RunRow, "limits" | "spent" | "held" | "doubtful">;

/**
 * The answer to a wish to hold more: it may be held now, or once others have given back what they
 * hold. Else the limit that has no room for it.
 */
export function mayHold({ limits, spent, held, doubtful }: Purse, amount: Amount): Held {
  const spentLimit = (sums: readonly Amount[]) =>
    EACH.find((kind) => {
      const limit = limits[kind];
      return limit !== null && sums.reduce((sum, one) => sum + one[kind], amount[kind]) > limit;
    });
  if (spentLimit([spent, held, doubtful]) === undefined) return "held";
  return spentLimit([spent, doubtful]) ?? "wait";
}

/**
 * The number of jobs that wait for what others hold and may ask again now: as many as there is room
 * for, all if nothing is held, and one of a run at its limit, which then pauses.
 */
export function mayAskAgain(
  { limits, spent, held, doubtful }: Purse,
  holds: { readonly count: number; readonly smallest: Amount; readonly largest: Amount },
): number {
  if (holds.count === 0) return Number.POSITIVE_INFINITY;
  const left = (kind: keyof Amount, sums: readonly Amount[]) =>
    sums.reduce((rest, sum) => rest - sum[kind], limits[kind] ?? Number.POSITIVE_INFINITY);
  if (EACH.some((kind) => holds.smallest[kind] > left(kind, [spent, doubtful]))) return 1;
  const rooms = EACH.map((kind) => left(kind, [spent, held, doubtful]) / Math.max(1, holds.largest[kind]));
  return Math.max(0, Math.floor(Math.min(...rooms)));
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
