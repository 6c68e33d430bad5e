import { argumentError } from "../../../runtime/errors.ts";
import { findAll, findFrom } from "./engine.ts";
import type { Required } from "./hir.ts";
import { MOST_LITERAL_BYTES, type NextLiteral, openLiterals, rarestIn, scanLiterals } from "./literals.ts";
import { type Match, type Part, type Position, WHOLE } from "./match.ts";
import { openNative } from "./native.ts";
import { openNear } from "./near-literals.ts";
import type { FindPattern } from "./pattern.ts";
import type { Windows } from "./sizes.ts";
import type { Haystack } from "./wasm.ts";
import { afterLineFeed, before, boundary, next, windowEnd } from "./window.ts";

/**
 * The result of one window: matches that no later text can change, and the place to continue
 * (undefined: at the end).
 */
interface Settled {
  readonly matches: readonly Match[];
  readonly position: Position | undefined;
}

interface Search {
  readonly haystack: Buffer;
  /** True if more of the text follows the haystack. */
  readonly isOpen: boolean;
  readonly pattern: FindPattern;
  /**
   * A match begun early in a window was once still open at its end, so asking where the first one
   * begins rarely pays.
   */
  farReaching: boolean;
}

const FEW_MATCHES = 1000;
const MANY_MATCHES = 10_000;
const GROWTH = 4;
const ALONE = 2 * 1024;
/** Between two searches by native RegExp. */
const BETWEEN = 128;

/**
 * All matches of the text, ascending. Only around the edges of windows is a byte searched again.
 *
 * @param between is called before each window
 * @returns the place from which the search is to continue with more of the text; undefined at its end
 */
export function* scan(
  bytes: Uint8Array,
  pattern: FindPattern,
  windows: Windows,
  between: () => void,
  part: Part = WHOLE,
): Generator<Iterable<Match>, Position | undefined> {
  const { begin, isOpen } = part;
  const haystack = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const { literals, maxBytes } = pattern;
  if (literals) return yield* scanLiterals(haystack, literals, maxBytes, between, part);
  const search: Search = { haystack, isOpen, pattern, farReaching: false };
  const effort = effortLimit(bytes.length, windows.effort);
  const required = rarestIn(haystack, pattern.required);
  const next = openLiterals(haystack, required, between);
  const skip = openSkip(haystack, required, next);
  const searchNear = isOpen ? () => undefined : openNear(haystack, pattern, required, next, windows.largest);
  const searchNatively = openNative(haystack, pattern.native, windows.largest, isOpen);
  const [smallest, largest] = pattern.native ? [BETWEEN, windows.smallest] : [windows.smallest, windows.largest];
  let size = smallest;
  let position: Position | undefined = begin;
  /**
   * The place from which native RegExp cannot continue. There, literals and skips are tried even if
   * they do not pay elsewhere.
   */
  let declined = -1;
  while (position !== undefined) {
    between();
    if (isOpen && position.from >= haystack.length) return position;
    const isDeclined = position.from === declined;
    const near = searchNear(position.from, isDeclined ? size : undefined);
    if (near !== undefined) {
      yield near.matches;
      if (isDeclined) size = Math.min(size * GROWTH, largest);
      if (near.end === haystack.length) return undefined;
      position = after(near.matches.at(-1)?.[1] ?? position.lastEnd, near.end);
      continue;
    }
    const from = skip(position.from, isDeclined);
    if (from === undefined) return isOpen ? beforeNextLiteral(haystack, required, position) : undefined;
    // A match behind a long skip is likely to be alone.
    if (from - position.from > size) size = Math.min(size, ALONE);
    const native = searchNatively(from);
    if (native !== undefined) {
      yield native.matches;
      position = native.end === haystack.length && !isOpen ? undefined : { ...position, from: native.end };
      size = smallest;
      continue;
    }
    position = { ...position, from };
    if (pattern.native && from !== declined) {
      declined = from;
      continue;
    }
    let settled = searchWindow(search, position, size);
    if (settled.matches.length > MANY_MATCHES || isSame(settled.position, position)) size = smallest;
    else if (settled.matches.length < FEW_MATCHES) size = Math.min(size * GROWTH, largest);
    for (let wider = size * GROWTH; isSame(settled.position, position); wider *= GROWTH) {
      // Short of the whole rest, the next step would be all of it: two of such a size at once are
      // not worth their memory.
      if (wider * GROWTH > bytes.length - position.from) wider = bytes.length;
      between();
      effort.spend(Math.min(wider, bytes.length - position.from));
      settled = searchFirst(search, position, wider);
      if (isOpen && wider === bytes.length && isSame(settled.position, position)) return position;
    }
    yield settled.matches;
    position = settled.position;
  }
  return undefined;
}

/** The first place of a match whose literal may begin so late that it is not in the haystack. */
function beforeNextLiteral(haystack: Buffer, required: Required | undefined, { from, lastEnd }: Position): Position {
  const first = haystack.length - MOST_LITERAL_BYTES - (required?.before ?? 0);
  return after(lastEnd, Math.max(from, boundary(haystack, Math.max(first, 0))));
}

function isSame(one: Position | undefined, other: Position): boolean {
  return one?.from === other.from && one.lastEnd === other.lastEnd;
}

/** All matches of one window that are certain. */
function searchWindow(search: Search, { from, lastEnd }: Position, size: number): Settled {
  const { haystack, isOpen, pattern } = search;
  const end = windowEnd(haystack, from, size);
  const last = end === haystack.length && !isOpen;
  const certain = last ? end + 1 : certainBefore(search, from, end);
  const { start, context } = pieceStart(search, from, lastEnd);
  const piece = haystack.subarray(start, end);
  const stop = certain === undefined ? absentFrom(piece) : undefined;
  const spelling = pattern.spelling({ stop, context });
  const matches: [start: number, end: number][] = [];
  let open = certain ?? end;
  for (const found of findAll(spelling, withRun(piece, stop, pattern)).slice(context ? 1 : 0)) {
    const match: [number, number] = [start + found.start, start + found.end];
    if (certain === undefined && match[1] >= end) {
      open = Math.min(end, match[0]);
      break;
    }
    if (match[0] < match[1] || match[0] !== lastEnd) matches.push(match);
  }
  const cut = pattern.looks && !last ? cutAtLine(haystack, from, open) : open;
  while ((matches.at(-1)?.[0] ?? cut - 1) >= cut) matches.pop();
  // A window that was larger may have settled `from` already; this one may find a match before it
  // open again.
  return { matches, position: last ? undefined : after(matches.at(-1)?.[1] ?? lastEnd, Math.max(cut, from)) };
}

/**
 * The first match only, in a window that had to be enlarged because its first match was open.
 * Searching for all would collect any number of matches here.
 */
function searchFirst({ haystack, isOpen, pattern }: Search, { from, lastEnd }: Position, size: number): Settled {
  const end = windowEnd(haystack, from, size);
  const last = end === haystack.length && !isOpen;
  const start = pattern.looks ? Math.max(before(haystack, from), 0) : from;
  const piece = haystack.subarray(start, end);
  const stop = last ? undefined : absentFrom(piece);
  const spelling = pattern.spelling({ stop, context: false });
  const text = withRun(piece, stop, pattern);
  let first = findFrom(spelling, text, from - start);
  if (first !== undefined && first.start === first.end && start + first.end === lastEnd) {
    first = findFrom(spelling, text, next(haystack, from) - start);
  }
  if (first === undefined) return { matches: [], position: last ? undefined : after(lastEnd, end) };
  const match: Match = [start + first.start, start + first.end];
  if (!last && match[1] >= end) return { matches: [], position: after(lastEnd, Math.min(match[0], end)) };
  return { matches: [match], position: after(match[1], match[1]) };
}

function after(lastEnd: number, from: number): Position {
  return { from: Math.max(from, lastEnd), lastEnd };
}

/**
 * Matches that begin before this byte cannot depend on what follows `end`; undefined: the search
 * itself has to tell.
 */
function certainBefore(search: Search, from: number, end: number): number | undefined {
  const { haystack, pattern } = search;
  if (pattern.lineLocal) {
    const line = afterLineFeed(haystack, from, end);
    if (line !== undefined) return line;
  }
  if (!pattern.looks && pattern.maxBytes < end - from) return boundary(haystack, end - pattern.maxBytes);
  return search.farReaching ? undefined : openFrom(search, from, end);
}

/**
 * The beginning of the first match that is open at `end`. The engine answers this backwards from
 * the end, so it is quick if matches are short, and the original pattern, with its literal
 * prefilters, can search the rest.
 */
function openFrom(search: Search, from: number, end: number): number | undefined {
  const { haystack, pattern } = search;
  const start = Math.max(before(haystack, from), 0);
  const piece = haystack.subarray(start, end);
  const stop = absentFrom(piece);
  const found = findFrom(pattern.openAtEnd(stop), withRun(piece, stop, pattern), from - start);
  const open = Math.min(end, start + (found?.start ?? piece.length));
  if (open - from >= (end - from) / 2) return open;
  search.farReaching = true;
  return undefined;
}

/**
 * The place at which the engine has to begin, with or without a character of context. It needs none
 * after a line feed, where assertions hold as at the beginning of a text. Right after the context
 * it allows no empty match, as after a match: where `from` is not the end of one, the piece begins
 * a character earlier, where no match begins.
 */
function pieceStart({ haystack, pattern }: Search, from: number, lastEnd: number): { start: number; context: boolean } {
  const atLine = !pattern.asksForStart && afterLineFeed(haystack, from - 1, from) === from;
  if (!pattern.looks || from === 0 || atLine) return { start: from, context: false };
  const start = from > lastEnd ? before(haystack, from) : from;
  return start === 0 ? { start, context: false } : { start: before(haystack, start), context: true };
}

/**
 * Prefers to continue at the beginning of a line, where no context is needed, if that costs less
 * than half the window.
 */
function cutAtLine(haystack: Buffer, from: number, open: number): number {
  const line = afterLineFeed(haystack, from, open);
  return line !== undefined && line - from >= (open - from) / 2 ? line : open;
}

/**
 * A character that does not occur in the piece; among the first eight if at all possible, as ASCII
 * is searched faster.
 */
function absentFrom(piece: Buffer): string {
  let code = 1;
  while (piece.includes(String.fromCodePoint(code))) code = code === 8 ? PRIVATE_USE : code + 1;
  return String.fromCodePoint(code);
}

const PRIVATE_USE = 0xf0000;

function withRun(piece: Buffer, stop: string | undefined, pattern: FindPattern): Haystack {
  return stop === undefined ? [piece] : [piece, Buffer.from(stop.repeat(pattern.finish))];
}

/** Ends a search that reads the text again and again. */
interface EffortLimit {
  /** Allows to read more of the text, and all that follows from it. */
  allow(textBytes: number): void;
  spend(bytes: number): void;
}

/**
 * A pattern such as `a(?:[\s\S]*z)?` reads the rest of the text for each match, which no engine
 * makes linear: after reading sixteen times the text in enlarged windows, `find` gives up.
 */
export function effortLimit(textBytes: number, effort: number): EffortLimit {
  let remaining = EFFORT * textBytes + effort;
  return {
    allow(more) {
      remaining += EFFORT * more;
    },
    spend(bytes) {
      remaining -= bytes;
      if (remaining >= 0) return;
      throw argumentError(
        "RangeError",
        "find: this pattern reads the rest of the text again for every match",
        "Bound its repetitions across lines, for example [\\s\\S]{0,2000}? instead of [\\s\\S]*.",
      );
    },
  };
}

const EFFORT = 16;

/** After this many skips, they continue only if the average one was as long as this. */
const TRIALS = 32;
const WORTH_BYTES = 16 * 1024;

/**
 * Skips text without a literal that every match has: a match begins at most `before` bytes before
 * it. The result is the place, at or after a byte, before which no further match begins; undefined:
 * there is none.
 */
function openSkip(haystack: Buffer, required: Required | undefined, next: NextLiteral) {
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
