import { findAll } from "./engine.ts";
import type { Required } from "./hir.ts";
import type { NextLiteral } from "./literals.ts";
import type { Match } from "./match.ts";
import type { FindPattern } from "./pattern.ts";
import { afterLineFeed, boundary, CHARACTER_BYTES, LINE_FEED } from "./window.ts";

/** Bytes that the engine reads in the time in which a literal is looked for. */
const LITERAL_COST = 60;
/** Native RegExp reads as many bytes while the engine reads one. */
const NATIVE_SPEED = 5;
/** Parts of the most bytes that the engine is given, where native RegExp may take over behind each. */
const NATIVE_SHARE = 8;
/**
 * An engine that looks around clears memory for all of what it was given after each match: of 64 KB that took longer
 * than to search.
 */
const LOOKING_SHARE = 16;
/** A match with more before its literal, or in all, is searched for in the whole line. */
const MOST_NEAR_BYTES = 256;
/** No match goes beyond it. */
const BETWEEN = Buffer.from("\n");

/** The matches of a part of the text. All that begin before `end` are known. */
interface NearMatches {
  readonly matches: readonly Match[];
  readonly end: number;
}

/**
 * Searches around the literals of a pattern whose matches stay in a line, many places at once: the
 * lines that have them or, if matches are short, a few bytes. The result is undefined where that is
 * not possible, or does not pay. Places `within` so many bytes are searched even if it does not pay.
 *
 * @param most bytes given to the engine at once
 */
export function openNear(
  haystack: Buffer,
  pattern: FindPattern,
  required: Required | undefined,
  next: NextLiteral,
  most: number,
): (from: number, within?: number) => NearMatches | undefined {
  if (!required || !pattern.lineLocal) return () => undefined;
  const gather = openGather(haystack, pattern, required, next);
  const { source, native } = pattern;
  const speed = native ? NATIVE_SPEED : 1;
  const size = most / (native ? NATIVE_SHARE : pattern.looks ? LOOKING_SHARE : 1);
  let paused = 0;
  let pause = most;
  return (from, within) => {
    if (within === undefined && from < paused) return undefined;
    const to = within === undefined ? haystack.length : (afterLineFeed(haystack, from, from + within) ?? from);
    const { spans, cost, end } = gather(from, to, size);
    if (end === from) return undefined;
    // Where it does not pay, windows are tried for a while, and longer each time.
    if (within === undefined) {
      pause = cost * speed > end - from ? 2 * pause : most;
      if (pause > most) paused = end + pause;
    }
    const parts = spans.flatMap((span) => [haystack.subarray(span.start, span.end), BETWEEN]);
    let at = 0;
    const matches = findAll(source, parts).map((match): [start: number, end: number] => {
      while (match.start + (spans[at]?.shift ?? 0) >= (spans[at]?.end ?? haystack.length)) at += 1;
      const shift = spans[at]?.shift ?? 0;
      return [match.start + shift, match.end + shift];
    });
    // Matches that begin behind it are found again.
    while ((matches.at(-1)?.[0] ?? -1) >= end) matches.pop();
    return { matches, end };
  };
}

/**
 * A part of the text around literals. `shift` leads from a byte of all parts, with one between any
 * two, to its place in the text.
 */
interface Span {
  readonly start: number;
  end: number;
  readonly shift: number;
}

/** Places around literals. */
interface Gathered {
  readonly spans: readonly Span[];
  /** Bytes that the engine reads in the same time. */
  readonly cost: number;
  /** All matches that begin before it are in the spans. It is `from` if there is no such place. */
  readonly end: number;
}

/**
 * A match begins at most `before` bytes before one of its literals, and has at most `maxBytes`. Each
 * span has all of the match and a character on either side, unless it ends with the line. So the
 * engine finds the matches in it that it would find in the text, and no others: each has a literal,
 * around which there is a span.
 */
function openGather(haystack: Buffer, pattern: FindPattern, { before }: Required, next: NextLiteral) {
  const { maxBytes } = pattern;
  const isNearStart = before <= MOST_NEAR_BYTES;
  const isNearEnd = maxBytes <= MOST_NEAR_BYTES;

  function startOf(literal: number): number {
    if (!isNearStart) return haystack.lastIndexOf(LINE_FEED, literal) + 1;
    return Math.max(0, boundary(haystack, Math.max(0, literal - before - CHARACTER_BYTES)));
  }

  function endOf(literal: number, to: number): number {
    const end = isNearEnd ? literal + maxBytes + 2 * CHARACTER_BYTES : haystack.indexOf(LINE_FEED, literal);
    return end < 0 || end >= to ? to : boundary(haystack, end);
  }

  return (from: number, to: number, most: number): Gathered => {
    const isAtLine = from === 0 || haystack[from - 1] === LINE_FEED;
    const spans: Span[] = [];
    let bytes = 0;
    let cost = 0;
    for (let literal = next(from); literal < to; cost += LITERAL_COST) {
      const start = startOf(literal);
      const last = spans.at(-1);
      if (!last && start < from && !isAtLine) return { spans, cost, end: from };
      const end = endOf(literal, to);
      const first = Math.max(start, last?.end ?? from);
      const more = Math.max(end - first, 0);
      if (bytes + more > (last ? most : Math.max(most, 4 * MOST_NEAR_BYTES))) {
        return { spans, cost: cost + bytes, end: last ? Math.max(start, from) : from };
      }
      if (last && start <= last.end) last.end = Math.max(last.end, end);
      else spans.push({ start: first, end, shift: first - bytes - spans.length });
      bytes += more;
      literal = next(isNearEnd ? literal + 1 : end);
    }
    return { spans, cost: cost + bytes, end: to };
  };
}
