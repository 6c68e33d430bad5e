import { argumentError } from "../../../runtime/errors.ts";
import { BEGIN, type Match, type Position } from "./match.ts";
import type { FindPattern } from "./pattern.ts";
import type { ReadText } from "./pieces.ts";
import { effortLimit, scan } from "./scan.ts";
import type { Sizes } from "./sizes.ts";
import { boundary } from "./window.ts";

/** Bytes before the place at which a search begins: two characters, and a part of a third. */
const CONTEXT_BYTES = 16;

/**
 * All matches of a text that is read by windows, bytes of it, ascending. Each window is as large as
 * it takes to be certain of its first match.
 *
 * @throws RlmError a RangeError for the guest, if that is more than `largestWindow`
 */
export function* matchesInWindows(
  text: ReadText,
  pattern: FindPattern,
  sizes: Sizes,
  between: () => void,
): Generator<Iterable<Match>> {
  const spend = effortLimit(text.bytes, sizes.windows.effort);
  let position: Position | undefined = BEGIN;
  for (let size = sizes.window; position !== undefined; ) {
    between();
    const { base, bytes, isOpen } = windowAt(text, position.from, size);
    const begin: Position = moved(position, -base);
    const found = scan(bytes, pattern, sizes.windows, between, { begin, isOpen });
    let step = found.next();
    for (; !step.done; step = found.next()) {
      yield Array.from(step.value, ([from, to]) => [base + from, base + to] as const);
    }
    const next: Position | undefined = step.value;
    if (next !== undefined && next.from === begin.from) {
      if (size >= sizes.largestWindow) throw tooLong(sizes.largestWindow);
      size = Math.min(4 * size, sizes.largestWindow);
      spend(size);
    } else size = sizes.window;
    position = next && moved(next, base);
  }
}

const moved = ({ from, lastEnd }: Position, by: number): Position => ({ from: from + by, lastEnd: lastEnd + by });

/** Bytes of a text around the place at which a search is to continue, both ends on characters. */
function windowAt(text: ReadText, from: number, size: number) {
  const start = Math.max(0, from - CONTEXT_BYTES);
  const read = text.read(start, from + size);
  const cut = start === 0 ? 0 : read.findIndex((byte) => (byte & 0xc0) !== 0x80);
  const isOpen = start + read.length < text.bytes;
  const end = isOpen ? boundary(read, read.length - 1) : read.length;
  return { base: start + cut, bytes: read.subarray(cut, end), isOpen };
}

function tooLong(bytes: number) {
  return argumentError(
    "RangeError",
    `find: a match of this pattern may be longer than ${Math.floor(bytes / 2 ** 20)} MB`,
    "Bound its repetitions across lines, for example [\\s\\S]{0,2000}? instead of [\\s\\S]*.",
  );
}
