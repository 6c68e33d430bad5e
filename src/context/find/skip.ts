import type { FindPattern } from "./pattern.ts";
import { afterLineFeed, boundary } from "./window.ts";

/** The place, at or after a byte, before which no further match begins; undefined: there is none. */
export type Skip = (from: number) => number | undefined;

/** After this many skips, they go on only if the average one was as long as this. */
const TRIALS = 32;
const WORTH_BYTES = 16 * 1024;
/** Node finds the beginning of a longer literal in a fifth of the time. */
const QUICK_BYTES = 7;

/**
 * Skips text without a literal that every match has. A match that cannot leave its line does not begin before the line of the
 * literal, and any match begins at most `before` bytes before it.
 */
export function openSkip(haystack: Buffer, { required, lineLocal }: FindPattern): Skip {
  if (!required || !(lineLocal || Number.isFinite(required.before))) return (from) => from;
  const literals = required.literals.map((text) => ({ bytes: Buffer.from(text).subarray(0, QUICK_BYTES), at: -1 }));
  let trials = 0;
  let skipped = 0;
  return (from) => {
    if (trials >= TRIALS && skipped < trials * WORTH_BYTES) return from;
    for (const literal of literals) if (literal.at < from) literal.at = nextOf(haystack, literal.bytes, from);
    const at = Math.min(...literals.map((literal) => literal.at));
    if (at === haystack.length) return undefined;
    const line = lineLocal ? (afterLineFeed(haystack, from, at) ?? from) : 0;
    const to = Math.max(from, line, boundary(haystack, Math.max(at - required.before, 0)));
    trials += 1;
    skipped += to - from;
    return to;
  };
}

/** The end of the haystack if there is none. */
function nextOf(haystack: Buffer, bytes: Buffer, from: number): number {
  const at = haystack.indexOf(bytes, from);
  return at === -1 ? haystack.length : at;
}
