import { unitsIn } from "../text/text.ts";
import type { FindPattern } from "./pattern.ts";
import { SIZES, type Sizes } from "./sizes.ts";
import { openStreamSearch, type SearchedBlock } from "./stream-search.ts";
import { boundary, LINE_FEED } from "./window.ts";

/** A line of a text that a search shows. */
export interface FoundLine {
  /** From 1. */
  readonly line: number;
  /** The byte of the text at which the line or its first match begins. */
  readonly byte: number;
  /**
   * The first match in the line, from 1, UTF-16 units. null: the line stands around one that
   * matches.
   */
  readonly column: number | null;
  /** The line without its end. */
  readonly text: string;
  /**
   * True if the text is a part of the line around its first match, since the line has more than 64
   * MB.
   */
  readonly isCut: boolean;
  /** True if an earlier part of the same line was given with a match. */
  readonly isAgain: boolean;
  /**
   * Matches in the text, UTF-16 units. Of a match over several lines it is the part in its first
   * line.
   */
  readonly marks: readonly Range[];
}

type Range = readonly [start: number, end: number];

/** Numbers of lines to show around each line that matches. */
export interface Around {
  readonly before: number;
  readonly after: number;
}

const CARRIAGE_RETURN = 0x0d;

/** Finds the lines of one text that match. */
interface LineFinder {
  /**
   * Takes the next chunk of the text, and gives the lines that can be shown then, in their order and
   * each once. A line of more than 64 MB comes in parts, and again for each part that matches.
   *
   * @param chunk valid UTF-8 of whole characters
   * @throws Unsearched
   */
  take(chunk: Uint8Array, isLast: boolean): Generator<FoundLine>;
  /** Takes whole lines, which others have searched. They are the next part of the text. */
  block(block: SearchedBlock): Generator<FoundLine>;
  /** Leaves out whole lines without a match, if none around a match are shown. */
  pass(bytes: number, lines: number): void;
}

/** The place of a block in its text. */
interface BlockPlace {
  /** Bytes and line feeds before it. */
  readonly bytes: number;
  readonly lines: number;
  /** UTF-16 units of its first line that are before it. */
  readonly units: number;
  /** True if a part of its first line was given with a match. */
  readonly isAgain: boolean;
}

/** Opens a finder, which keeps the last lines of a block for a match in the next one. */
export function openLineFinder(pattern: FindPattern, { before, after }: Around, sizes: Sizes = SIZES): LineFinder {
  const search = openStreamSearch(pattern, sizes);
  let place: BlockPlace = { bytes: 0, lines: 0, units: 0, isAgain: false };
  /**
   * Lines at the end of the text so far that were not shown, as many as may stand before a match.
   */
  let tail: readonly FoundLine[] = [];
  /** Lines still to be shown behind the last match. */
  let due = 0;

  /** Shows lines behind the last match, up to the next one. Gives the byte behind them. */
  function* following(block: Block, from: number, to: number): Generator<FoundLine, number> {
    let start = from === 0 && place.units > 0 ? Math.min(block.lineEnd(0), to) : from;
    for (; due > 0 && start < to; due -= 1) {
      const end = block.lineEnd(start);
      yield block.line({ start, end, matches: [] });
      start = end;
    }
    return start;
  }

  /** The lines before a byte that were not shown, those of earlier blocks too. */
  function preceding(block: Block, shown: number, to: number): readonly FoundLine[] {
    const starts: number[] = [];
    for (let at = to; at > shown && starts.length < before; ) {
      at = block.lineStart(at - 1);
      // The first part of a line stands for all of it.
      if (at > 0 || place.units === 0) starts.unshift(at);
    }
    const here = starts.map((start) => block.line({ start, end: block.lineEnd(start), matches: [] }));
    const missing = shown === 0 ? before - here.length : 0;
    return missing > 0 ? [...tail.slice(-missing), ...here] : here;
  }

  function* linesIn({ bytes, matches }: SearchedBlock): Generator<FoundLine> {
    if (bytes.length === 0) return;
    const block = openBlock(bytes, place, sizes.heldLine);
    let shown = 0;
    let last: MatchedLine | undefined;
    for (const found of linesThatMatch(block, matches)) {
      shown = yield* following(block, shown, found.start);
      const { line } = block.line(found);
      yield* preceding(block, shown, found.start).filter((other) => other.line < line);
      yield* block.parts(found);
      shown = found.end;
      due = after;
      tail = [];
      last = found;
    }
    shown = yield* following(block, shown, bytes.length);
    tail = preceding(block, shown, bytes.length);
    place = block.placeBehind(last);
  }

  return {
    *take(chunk, isLast) {
      for (const block of search.take(chunk, isLast)) yield* linesIn(block);
    },
    block: linesIn,
    pass(bytes, lines) {
      place = { ...place, bytes: place.bytes + bytes, lines: place.lines + lines };
    },
  };
}

/**
 * A line with the matches that begin in it, bytes of the block. The end is behind the line feed.
 */
interface MatchedLine {
  readonly start: number;
  readonly end: number;
  readonly matches: readonly Range[];
}

function* linesThatMatch(block: Block, matches: SearchedBlock["matches"]): Generator<MatchedLine> {
  const { bytes } = block;
  let line: (MatchedLine & { readonly matches: Range[] }) | null = null;
  for (const some of matches) {
    for (const [start, end] of some) {
      const isBehindAll = start === bytes.length && bytes.at(-1) === LINE_FEED;
      if (isBehindAll) continue;
      if (line === null || start >= line.end) {
        if (line !== null) yield line;
        line = { start: block.lineStart(start), end: block.lineEnd(start), matches: [] };
      }
      line.matches.push([start, Math.min(end, line.end)]);
    }
  }
  if (line !== null) yield line;
}

interface Block {
  readonly bytes: Buffer;
  /** The place of the next block. @param last the last line of this one that matched */
  placeBehind(last: MatchedLine | undefined): BlockPlace;
  lineEnd(byte: number): number;
  lineStart(byte: number): number;
  line(found: MatchedLine): FoundLine;
  /** A line with its matches. If it is long, some of them come after the others. */
  parts(found: MatchedLine): Generator<FoundLine>;
}

/** The share of the text of a cut line that is before its first match. */
const LEAD = 1 / 64;

/** @param most bytes of a line whose text is given whole */
function openBlock(buffer: Buffer, place: BlockPlace, most: number): Block {
  /** The line feeds before this byte are counted. */
  let counted = { byte: 0, lines: place.lines };

  function linesBefore(byte: number): number {
    if (byte < counted.byte) counted = { byte: 0, lines: place.lines };
    let { lines } = counted;
    for (let at = buffer.indexOf(LINE_FEED, counted.byte); at >= 0 && at < byte; ) {
      lines += 1;
      at = buffer.indexOf(LINE_FEED, at + 1);
    }
    counted = { byte, lines };
    return lines;
  }

  const lineEnd = (byte: number) => buffer.indexOf(LINE_FEED, byte) + 1 || buffer.length;

  function textEnd({ start, end }: MatchedLine): number {
    const fed = end > start && buffer[end - 1] === LINE_FEED ? end - 1 : end;
    return fed > start && buffer[fed - 1] === CARRIAGE_RETURN ? fed - 1 : fed;
  }

  const lineStart = (byte: number) => (byte === 0 ? 0 : buffer.lastIndexOf(LINE_FEED, byte - 1) + 1);
  const isPart = (byte: number) => byte === 0 && place.units > 0;

  return {
    bytes: buffer,
    lineEnd,
    lineStart,
    placeBehind(last) {
      const start = lineStart(buffer.length);
      const isWhole = start === buffer.length;
      return {
        bytes: place.bytes + buffer.length,
        lines: linesBefore(buffer.length),
        units: isWhole ? 0 : unitsIn(buffer, start, buffer.length) + (isPart(start) ? place.units : 0),
        isAgain: !isWhole && (last?.start === start || (isPart(start) && place.isAgain)),
      };
    },
    line: (found) => lineAround(found, found.matches, isPart(found.start) && place.isAgain),
    *parts(found) {
      let { matches } = found;
      for (let isAgain = isPart(found.start) && place.isAgain; matches.length > 0; isAgain = true) {
        const line = lineAround(found, matches, isAgain);
        yield line;
        matches = matches.slice(line.marks.length);
      }
    },
  };

  /** A line, or the part of a long one that is around the first of these matches. */
  function lineAround(found: MatchedLine, matches: MatchedLine["matches"], isAgain: boolean): FoundLine {
    const first = matches[0]?.[0] ?? found.start;
    const isLong = found.end - found.start > most;
    const from = isLong ? boundary(buffer, Math.max(found.start, first - Math.ceil(most * LEAD))) : found.start;
    const to = isLong ? Math.max(first, boundary(buffer, Math.min(textEnd(found), from + most))) : textEnd(found);
    const unitAt = unitsFrom(buffer, from);
    const marks = matches
      .filter(([start]) => start <= to || !isLong)
      .map(([start, end]): Range => [unitAt(start), unitAt(Math.min(end, to))]);
    const lead = unitsIn(buffer, found.start, from) + (isPart(found.start) ? place.units : 0);
    return {
      line: linesBefore(found.start) + 1,
      byte: place.bytes + first,
      column: marks[0] === undefined ? null : lead + marks[0][0] + 1,
      text: buffer.toString("utf8", from, to),
      isCut: isLong || isPart(found.start),
      isAgain,
      marks,
    };
  }
}

/** Counts the UTF-16 units between a byte and later ones, which are asked for in their order. */
function unitsFrom(bytes: Uint8Array, from: number): (byte: number) => number {
  let at = from;
  let units = 0;
  return (byte) => {
    units += unitsIn(bytes, at, byte);
    at = Math.max(at, byte);
    return units;
  };
}
