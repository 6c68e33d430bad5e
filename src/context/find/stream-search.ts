import { BEGIN, type Match, moved, type Position } from "./match.ts";
import { type FindPattern, searchError } from "./pattern.ts";
import { matchesOfLines } from "./pieces.ts";
import { effortLimit, scan } from "./scan.ts";
import type { Sizes } from "./sizes.ts";
import { boundary, CHARACTER_BYTES, LINE_FEED } from "./window.ts";

/** Some of a text: whole lines or, of a long line, a part of it. */
export interface SearchedBlock {
  readonly bytes: Buffer;
  /** The matches that begin in it, bytes of it, ascending. The last one may end behind it. */
  readonly matches: Iterable<Iterable<Match>>;
}

/** Searches a text that comes in chunks, from its beginning to its end. */
interface StreamSearch {
  /**
   * Takes the next chunk, and gives the blocks that are certain then. All blocks in their order are
   * the text.
   *
   * @param chunk valid UTF-8 of whole characters
   * @throws Unsearched
   */
  take(chunk: Uint8Array, isLast: boolean): Generator<SearchedBlock>;
}

/** A text that cannot be searched from here on. The message is a reason as skipped files have it. */
export class Unsearched extends Error {
  /** True if the text has bytes that a lossy reading takes. */
  readonly isDamaged: boolean;
  constructor(reason: string, isDamaged = false) {
    super(reason);
    this.isDamaged = isDamaged;
  }
}

/** More than two characters before the place at which a search continues. Assertions may look at them. */
const CONTEXT_BYTES = 4 * CHARACTER_BYTES;

/** Bytes that were taken and not given yet. */
interface Held {
  readonly bytes: Buffer;
  /** The bytes before this one were given: they are context. */
  readonly given: number;
  /** The search continues here. */
  readonly position: Position;
  /** Matches before it that were not given. */
  readonly matches: readonly Match[];
}

const NOTHING: Held = { bytes: Buffer.alloc(0), given: 0, position: BEGIN, matches: [] };

/** Opens a search. @param between is called again and again, and may throw to end it */
export function openStreamSearch(pattern: FindPattern, sizes: Sizes, between = () => {}): StreamSearch {
  const effort = effortLimit(0, sizes.windows.effort);
  let held = NOTHING;
  let chunks: Uint8Array[] = [];
  let wanted = sizes.piece;

  /** Searches whole lines as if there were no others. */
  function* wholeLines(bytes: Buffer, end: number, isLast: boolean): Generator<SearchedBlock> {
    const lines = bytes.subarray(0, end);
    held = { ...NOTHING, bytes: bytes.subarray(end) };
    wanted = held.bytes.length + sizes.piece;
    yield { bytes: lines, matches: matchesOfLines(lines, pattern, sizes, isLast, between) };
  }

  /** Searches what is held as a part of a text, and holds what is not certain, or not a whole line. */
  function* openPart(
    { bytes, given: from, position, matches: known }: Held,
    isLast: boolean,
  ): Generator<SearchedBlock> {
    let matches = [...known];
    let given = from;

    /** Gives what lies before a byte; at the end of the text even if it is but an empty match. */
    function* give(to: number, isEnd = false): Generator<SearchedBlock> {
      if (to <= given && !isEnd) return;
      const start = given;
      const before = matches.filter(([at]) => at < to || to === bytes.length);
      matches = matches.slice(before.length);
      given = to;
      yield { bytes: bytes.subarray(start, to), matches: [moved(before, -start)] };
    }

    effort.spend(bytes.length);
    const found = scan(bytes, pattern, sizes.windows, between, { begin: position, isOpen: !isLast });
    let step = found.next();
    for (; !step.done; step = found.next()) {
      for (const match of step.value) matches.push(match);
      const last = matches.at(-1)?.[0];
      if (last !== undefined) yield* give(lineStart(bytes, last));
    }
    const next: Position | undefined = step.value;
    if (next === undefined) return yield* give(bytes.length, true);
    yield* give(lineStart(bytes, next.from));
    if (next.from - given > sizes.heldLine) yield* give(next.from);
    if (bytes.length - next.from >= sizes.largestWindow) throw new Unsearched(tooLong(sizes));
    held = withoutGiven({ bytes, given, position: next, matches });
    // A match that is not certain after all of this needs much more.
    const double = Math.min(2 * bytes.length, held.position.from + sizes.largestWindow);
    wanted = next.from > position.from ? held.bytes.length + sizes.piece : double;
  }

  function* search(isLast: boolean): Generator<SearchedBlock> {
    const bytes = Buffer.concat([held.bytes, ...chunks]);
    effort.allow(bytes.length - held.bytes.length);
    const { given, position, matches } = held;
    const isAtLine = given === 0 || bytes[given - 1] === LINE_FEED;
    chunks = [];
    if (!(pattern.lineLocal && isAtLine && position.from === given && matches.length === 0))
      return yield* openPart({ ...held, bytes }, isLast);
    const lines = bytes.subarray(given);
    const end = isLast ? lines.length : lines.lastIndexOf(LINE_FEED) + 1;
    if (end > 0 || isLast) yield* wholeLines(lines, end, isLast);
    else if (lines.length > sizes.line) yield* openPart({ ...held, bytes }, isLast);
    else {
      held = { ...held, bytes };
      wanted = 2 * bytes.length;
    }
  }

  return {
    *take(chunk, isLast) {
      chunks.push(chunk);
      const size = chunks.reduce((sum, { length }) => sum + length, held.bytes.length);
      if (size < wanted && !isLast) return;
      try {
        yield* search(isLast);
      } catch (error) {
        throw searchError(error);
      }
    },
  };
}

/** The same without what was given, except for the context. */
function withoutGiven({ bytes, given, position: { from, lastEnd }, matches }: Held): Held {
  const cut = Math.max(0, boundary(bytes, Math.min(given, from - CONTEXT_BYTES)));
  return {
    bytes: bytes.subarray(cut),
    given: given - cut,
    position: { from: from - cut, lastEnd: lastEnd - cut },
    matches: [...moved(matches, -cut)],
  };
}

const lineStart = (bytes: Buffer, at: number) => (at === 0 ? 0 : bytes.lastIndexOf(LINE_FEED, at - 1) + 1);

const tooLong = ({ largestWindow }: Sizes) =>
  `has a match that may be longer than ${Math.floor(largestWindow / 2 ** 20)} MB`;
