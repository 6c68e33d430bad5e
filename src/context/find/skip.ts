import type { NextLiteral } from "./literals.ts";
import type { FindPattern } from "./pattern.ts";
import { boundary } from "./window.ts";

/** After this many skips, they go on only if the average one was as long as this. */
const TRIALS = 32;
const WORTH_BYTES = 16 * 1024;

/**
 * Skips text without a literal that every match has: a match begins at most `before` bytes before it. The result is the place, at or
 * after a byte, before which no further match begins; undefined: there is none.
 */
export function openSkip(haystack: Buffer, { required }: FindPattern, next: NextLiteral) {
  if (!required || !Number.isFinite(required.before)) return (from: number) => from;
  let trials = 0;
  let skipped = 0;
  return (from: number, always: boolean) => {
    if (!always && trials >= TRIALS && skipped < trials * WORTH_BYTES) return from;
    const at = next(from);
    if (at === haystack.length) return undefined;
    const to = Math.max(from, boundary(haystack, Math.max(at - required.before, 0)));
    trials += 1;
    skipped += to - from;
    return to;
  };
}
