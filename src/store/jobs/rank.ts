/** The rank of a run that begins while none is open. */
export const LOWEST_RANK = -2_000_000_000;

/** Steps of rank from one job of a run to the next, at a share of 1. */
const STEP = 8;

/** The rank of job number `n` of a run: runs that are open together advance in proportion to their shares. */
export function rankOf(first: number, n: number, share: number): number {
  return first + Math.ceil((STEP * n) / share);
}
