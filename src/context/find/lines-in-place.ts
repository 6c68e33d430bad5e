import { isUtf8 } from "node:buffer";
import type { PlainText } from "../text/plain-text.ts";
import { type Around, type FoundLine, openLineFinder } from "./found-lines.ts";
import { type FindPattern, searchError } from "./pattern.ts";
import { hasShortLines, matchesOfLines, roomBytes } from "./pieces.ts";
import { SIZES, type Sizes } from "./sizes.ts";
import type { SearchedBlock, Unsearched } from "./stream-search.ts";
import { type Answer, answersOf, pairs } from "./threads.ts";
import { LINE_FEED } from "./window.ts";

/** A large file that is searched where it lies. */
export interface FileInPlace {
  readonly text: PlainText;
  /** Takes bytes that are not UTF-8, and the place of the first one in the text. */
  mend(bytes: Uint8Array, at: number): MendedText;
  /** Told of bytes that were searched. */
  onSearched(bytes: number): void;
}

/** UTF-8 for bytes that were none, and why nothing behind it is searched; null: it is. */
export interface MendedText {
  readonly bytes: Uint8Array;
  readonly failure: Unsearched | null;
}

/** True if the lines of a text can be searched as if there were no others, with the help of threads. */
export function isSearchedInPlace(text: PlainText, pattern: FindPattern): boolean {
  return pattern.lineLocal && hasShortLines(text, SIZES, () => {});
}

/**
 * Finds the lines of a file that match, some at a time, with the help of other threads. Only pieces
 * that have some are read by this one.
 *
 * @throws Unsearched
 */
export function* linesInPlace(
  file: FileInPlace,
  pattern: FindPattern,
  around: Around,
  sizes: Sizes = SIZES,
): Generator<Iterable<FoundLine>> {
  const { text } = file;
  const finder = openLineFinder(pattern, around, sizes);
  const room = Buffer.allocUnsafeSlow(roomBytes(sizes));
  const isAlone = around.before === 0 && around.after === 0;
  /** The bytes before this one are known to the finder. */
  let known = 0;
  try {
    for (const answer of answersOf({ text, pattern, sizes, between: () => {} }, sizes.held)) {
      file.onSearched(answer.end - answer.start);
      if (answer.count === 0 && (isAlone || answer.start === answer.end)) {
        yield [];
        continue;
      }
      for (let to = known; known < answer.start; known = to) {
        to = Math.min(known + sizes.piece, answer.start);
        finder.pass(to - known, linesIn(text.read(known, to, room)));
      }
      known = answer.end;
      const { block, failure } = blockOf(file, answer, pattern, sizes, room);
      yield finder.block(block);
      if (failure) throw failure;
    }
  } catch (error) {
    throw searchError(error);
  }
}

/** A piece with its matches, and why the search ends behind it. */
interface PieceBlock extends Pick<MendedText, "failure"> {
  readonly block: SearchedBlock;
}

function blockOf(
  { text, mend }: FileInPlace,
  { start, end, count, matches }: Answer,
  pattern: FindPattern,
  sizes: Sizes,
  room: Buffer,
): PieceBlock {
  const bytes = text.read(start, end, room);
  if (count !== null) return { block: { bytes, matches: [pairs(matches, 0)] }, failure: null };
  const mended = isUtf8(bytes) ? { bytes, failure: null } : mend(bytes, start);
  const isLast = end === text.bytes && mended.failure === null;
  const all = Buffer.from(mended.bytes.buffer, mended.bytes.byteOffset, mended.bytes.length);
  return {
    block: { bytes: all, matches: matchesOfLines(all, pattern, sizes, isLast, () => {}) },
    failure: mended.failure,
  };
}

function linesIn(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) lines += 1;
  return lines;
}
