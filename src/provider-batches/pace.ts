/**
 * A group is closed once no request has come to it for so long, ms: the calls of a cell come one
 * after the other.
 */
export const SETTLE_MS = 300;
/** A group is closed when its oldest request has waited so long, ms. */
export const WAVE_MS = 600_000;
/** Below the limits of every provider. */
export const MOST = { requests: 20_000, bytes: 100_000_000 };
/**
 * A batch without a fence that is not listed so long after it was first looked for was not made,
 * ms.
 */
export const UNLISTED_MS = 60_000;
/** A create is not sent any more so long after it was kept that it is asked for, ms. */
export const LATE_MS = UNLISTED_MS / 4;
/** Time until the next look at what another process, or the user, may change, ms. */
export const HINDERED_MS = 60_000;
/** After this a provider takes as many tokens again, ms. */
export const TOO_MANY_TOKENS_MS = 900_000;

const FIRST_LOOK_MS = 1000;
const LAST_LOOK_MS = 300_000;

/**
 * Time until the next look, ms: a tenth of the age, with 1 s at the least and 5 min at the most;
 * more or less by a tenth. That is about 60 looks in the first 50 minutes and 310 in a day.
 *
 * @param random from 0 to 1
 */
export function lookDelay(ageMs: number, random: number): number {
  return Math.round(Math.min(LAST_LOOK_MS, Math.max(FIRST_LOOK_MS, ageMs / 10)) * (0.9 + 0.2 * random));
}

/** Factor of all waits for batches: 1, or less in tests. */
export function batchPace(): number {
  const pace = Number(process.env.BELAY_SHIPPING_PACE);
  return pace > 0 && pace < 1 ? pace : 1;
}
