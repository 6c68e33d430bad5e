import { isUtf8 } from "node:buffer";
import type { PlainText } from "../text/plain-text.ts";
import type { Text } from "../text/text.ts";
import type { Match } from "./match.ts";
import type { FindPattern } from "./pattern.ts";
import { scan } from "./scan.ts";
import type { Sizes } from "./sizes.ts";
import { LINE_FEED } from "./window.ts";

/** A text that is read piece by piece. */
export type ReadText = Pick<Text, "bytes" | "read" | "data"> | PlainText;

/** The number of pieces in which lines begin: at least one, so that an empty text is searched too. */
export const piecesOf = ({ bytes }: ReadText, { piece }: Sizes) => Math.max(1, Math.ceil(bytes / piece));

/** A piece of a text: the lines that begin in a part of it. */
export interface Piece {
  readonly start: number;
  readonly end: number;
}

/** The piece of this number, from 0. It is empty if no line begins there. */
export function pieceOf(text: ReadText, number: number, { piece }: Sizes): Piece {
  const start = lineFrom(text, number * piece);
  return { start, end: lineFrom(text, (number + 1) * piece) };
}

/** True for bytes of a file that is searched where it lies, if they are not UTF-8. */
export const areNoText = ({ data }: ReadText, bytes: Uint8Array) => "descriptor" in data && !isUtf8(bytes);

/**
 * All matches of lines, some at a time, ascending.
 *
 * @param pattern whose matches stay within a line
 * @param isLast true if the text ends with these bytes
 */
export function* matchesOfLines(
  bytes: Uint8Array,
  pattern: FindPattern,
  { windows }: Pick<Sizes, "windows">,
  isLast: boolean,
  between: () => void,
): Generator<Iterable<Match>> {
  for (const some of scan(bytes, pattern, windows, between)) {
    // An empty match behind the last line end belongs to the next piece.
    yield isLast ? some : within(some, bytes.length);
  }
}

function* within(matches: Iterable<Match>, end: number): Iterable<Match> {
  for (const match of matches) if (match[0] < end) yield match;
}

/** Bytes that are read at once to find the next line. */
const STEP_BYTES = 64 * 1024;

/** The first byte at or after this one with which a line begins; `end` if there is none before it. */
function lineFrom(text: ReadText, byte: number, end = text.bytes): number {
  if (byte === 0) return 0;
  for (let at = byte - 1; at < end; at += STEP_BYTES) {
    const found = text.read(at, Math.min(at + STEP_BYTES, end)).indexOf(LINE_FEED);
    if (found >= 0) return at + found + 1;
  }
  return end;
}

const known = new WeakMap<ReadText, boolean>();

/** True if no line is longer than `line`; it may be false if one has more than half of that. */
export function hasShortLines(text: ReadText, { line }: Sizes, between: () => void): boolean {
  const before = known.get(text);
  if (before !== undefined) return before;
  const half = Math.ceil(line / 2);
  let isShort = true;
  for (let at = 0; at < text.bytes && isShort; at += half) {
    between();
    // A line of more than two halves covers one of them.
    const end = at + half;
    isShort = end >= text.bytes || lineFrom(text, at + 1, end + 1) <= end;
  }
  known.set(text, isShort);
  return isShort;
}
