import { isUtf8 } from "node:buffer";
import type { PlainText } from "../text/plain-text.ts";
import type { Text } from "../text/text.ts";
import type { Match } from "./match.ts";
import { type FindPattern, searchError } from "./pattern.ts";
import { scan } from "./scan.ts";
import type { Sizes } from "./sizes.ts";
import { LINE_FEED } from "./window.ts";

/** A text that is read piece by piece. */
export type ReadText = Pick<Text, "bytes" | "read" | "data"> | PlainText;

/** The number of pieces of a text: at least one, so that an empty text is searched too. */
export const piecesOf = ({ bytes }: ReadText, { piece }: Sizes) => Math.max(1, Math.ceil(bytes / piece));

/** The lines that begin in a part of a text. */
interface Piece {
  /** The place of the piece in the text. */
  readonly start: number;
  readonly bytes: Buffer;
}

/** Bytes that are read to find the next line. */
const STEP_BYTES = 64 * 1024;

/**
 * Reads the piece of this number, from 0. A line that begins with the last byte of its part, or
 * behind it, is in the next piece. A piece is empty if no line begins there.
 */
export function readPiece(text: ReadText, number: number, { piece }: Sizes, room?: Buffer): Piece {
  const from = number * piece;
  for (let more = STEP_BYTES; ; more *= 4) {
    const bytes = text.read(from, from + piece + more, room);
    const begin = number === 0 ? 0 : bytes.indexOf(LINE_FEED) + 1;
    if (begin > piece || (number > 0 && begin === 0)) return { start: from, bytes: bytes.subarray(0, 0) };
    const end = bytes.indexOf(LINE_FEED, piece) + 1;
    if (end > 0 || bytes.length < piece + more) {
      return { start: from + begin, bytes: bytes.subarray(begin, end > 0 ? end : bytes.length) };
    }
  }
}

/** Bytes of the memory in which a piece is read: its lines are whole, and its pages too. */
export const roomBytes = ({ piece }: Sizes) => piece + 2 ** 20;

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
  try {
    for (const some of scan(bytes, pattern, windows, between)) {
      // An empty match behind the last line end belongs to the next piece.
      yield isLast ? some : within(some, bytes.length);
    }
  } catch (error) {
    throw searchError(error);
  }
}

function* within(matches: Iterable<Match>, end: number): Iterable<Match> {
  for (const match of matches) if (match[0] < end) yield match;
}

const known = new WeakMap<ReadText, boolean>();

/** True if no line is longer than `line`; it may be false if one has more than half of that. */
export function hasShortLines(text: ReadText, { line }: Sizes, between: () => void): boolean {
  const before = known.get(text);
  if (before !== undefined) return before;
  const half = Math.ceil(line / 2);
  let isShort = true;
  // A line of more than two halves covers one of them.
  for (let at = 0; at + half < text.bytes && isShort; at += half) {
    between();
    isShort = hasLineEnd(text, at, at + half);
  }
  known.set(text, isShort);
  return isShort;
}

function hasLineEnd(text: ReadText, from: number, to: number): boolean {
  for (let at = from; at < to; at += STEP_BYTES) {
    if (text.read(at, Math.min(at + STEP_BYTES, to)).includes(LINE_FEED)) return true;
  }
  return false;
}
