import { unitsIn } from "../text/text.ts";
import { matchesIn } from "./find.ts";
import type { FindPattern } from "./pattern.ts";
import { boundary } from "./window.ts";

/** A line of a text that a search shows. */
export interface FoundLine {
  /** From 1. */
  readonly line: number;
  /** The byte of its block at which the line or its first match begins. */
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

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Finds the lines of one text that match. The function takes its blocks one after the other, each
 * of whole lines in UTF-8, and gives the lines to show in their order and each once. It keeps the
 * last lines of a block for a match in the next one.
 */
export function openLineFinder(pattern: FindPattern, { before, after }: Around) {
  let linesSoFar = 0;
  /**
   * Lines at the end of the text so far that were not shown, as many as may stand before a match.
   */
  let tail: readonly FoundLine[] = [];
  /** Lines still to be shown behind the last match. */
  let due = 0;

  /** Shows lines behind the last match, up to the next one. Gives the byte behind them. */
  function* following(block: Block, from: number, to: number): Generator<FoundLine, number> {
    let start = from;
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
    for (let at = to; at > shown && starts.length < before; starts.unshift(at)) at = block.lineStart(at - 1);
    const here = starts.map((start) => block.line({ start, end: block.lineEnd(start), matches: [] }));
    const missing = shown === 0 ? before - here.length : 0;
    return missing > 0 ? [...tail.slice(-missing), ...here] : here;
  }

  return function* linesIn(bytes: Uint8Array): Generator<FoundLine> {
    const block = openBlock(bytes, linesSoFar);
    let shown = 0;
    for (const found of linesThatMatch(block, pattern)) {
      shown = yield* following(block, shown, found.start);
      yield* preceding(block, shown, found.start);
      yield block.line(found);
      shown = found.end;
      due = after;
      tail = [];
    }
    shown = yield* following(block, shown, bytes.length);
    tail = preceding(block, shown, bytes.length);
    linesSoFar = block.linesBefore(bytes.length);
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

function* linesThatMatch(block: Block, pattern: FindPattern): Generator<MatchedLine> {
  const { bytes } = block;
  let line: (MatchedLine & { readonly matches: Range[] }) | null = null;
  for (const some of matchesIn(bytes, pattern)) {
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
  readonly bytes: Buffer<ArrayBufferLike>;
  linesBefore(byte: number): number;
  lineEnd(byte: number): number;
  lineStart(byte: number): number;
  line(found: MatchedLine): FoundLine;
}

/** Most bytes of a line whose text is given whole. */
const MOST_LINE_BYTES = 64 * 2 ** 20;
/** Bytes before the first match of a longer one. */
const LEAD_BYTES = 2 ** 20;

function openBlock(bytes: Uint8Array, linesSoFar: number): Block {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  /** The line feeds before this byte are counted. */
  let counted = { byte: 0, lines: linesSoFar };

  function linesBefore(byte: number): number {
    if (byte < counted.byte) counted = { byte: 0, lines: linesSoFar };
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

  return {
    bytes: buffer,
    linesBefore,
    lineEnd,
    lineStart: (byte: number) => (byte === 0 ? 0 : buffer.lastIndexOf(LINE_FEED, byte - 1) + 1),
    line(found: MatchedLine): FoundLine {
      const first = found.matches[0]?.[0] ?? found.start;
      const isCut = found.end - found.start > MOST_LINE_BYTES;
      const from = isCut ? boundary(buffer, Math.max(found.start, first - LEAD_BYTES)) : found.start;
      const to = isCut ? boundary(buffer, Math.min(textEnd(found), from + MOST_LINE_BYTES)) : textEnd(found);
      const text = buffer.toString("utf8", from, to);
      const unitAt = unitsFrom(buffer, from);
      const marks = found.matches
        .filter(([start]) => start <= to)
        .map(([start, end]): Range => [unitAt(start), unitAt(Math.min(end, to))]);
      const lead = isCut ? unitsIn(buffer, found.start, from) : 0;
      const column = marks[0] === undefined ? null : lead + marks[0][0] + 1;
      return { line: linesBefore(found.start) + 1, byte: first, column, text, isCut, marks };
    },
  };
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
