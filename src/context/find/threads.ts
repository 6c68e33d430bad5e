import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { entryUrl } from "../../entries.ts";
import { openPageRoom } from "../../platform/page-sums.ts";
import type { PlainFile } from "../text/plain-text.ts";
import type { TextData } from "../text/text.ts";
import { countLiterals } from "./literals.ts";
import { type Match, moved } from "./match.ts";
import type { FindPattern } from "./pattern.ts";
import { areNoText, matchesOfLines, piecesOf, type ReadText, readPiece, roomBytes } from "./pieces.ts";
import type { Sizes } from "./sizes.ts";

/** A search that several threads share: each takes the next piece that nobody has begun. */
export interface SharedSearch {
  readonly text: TextData | PlainFile;
  /** The pattern in Rust's syntax, with flags. */
  readonly source: string;
  readonly sizes: Sizes;
  /** The most matches of a piece that are sent; null: only their number is wanted. */
  readonly most: number | null;
  readonly shared: Int32Array;
  readonly port: MessagePort;
}

/**
 * Words of `shared`: the next piece that nobody has begun, the number of pieces that other threads
 * have done, the first piece that is still wanted, and 1 to end the search.
 */
export const SHARED = { next: 0, done: 1, wanted: 2, stop: 3, words: 4 } as const;

/** A thread could not search a piece. Whoever wants it searches it, and fails as well, or not. */
export interface FailedPiece {
  readonly number: number;
  readonly count: undefined;
}

/** The answer of a piece. */
export interface Answer {
  readonly number: number;
  /** The piece, bytes of the text. */
  readonly start: number;
  readonly end: number;
  /**
   * The number of matches; null if there are too many to send, or if the bytes are not UTF-8. Whoever
   * wants the piece searches it again then.
   */
  readonly count: number | null;
  /** Their starts and ends, bytes of the piece. */
  readonly matches: Uint32Array;
}

const MOST_THREADS = 4;
/** Pieces that are done ahead of the one that is wanted. */
export const AHEAD = 16;
const LOOK_MS = 20;
/** Time after which a thread is taken for dead if it does not give the piece that is wanted. */
const STALLED_MS = 5000;
/** Memory of a thread for what it drops soon. It would take three times as much, and be no faster. */
const YOUNG_MB = 12;
/** Time after which threads without a search are ended. */
const IDLE_MS = 10_000;

/** Searches one piece for whoever wants it. */
export function answerOf(
  text: ReadText,
  number: number,
  pattern: FindPattern,
  { sizes, most }: Pick<SharedSearch, "sizes" | "most">,
  between: () => void,
  room: Buffer,
): Answer {
  const { start, bytes } = readPiece(text, number, sizes, room);
  const end = start + bytes.length;
  const isLast = end === text.bytes;
  const unknown = { number, start, end, count: null, matches: NONE };
  if (bytes.length === 0 && text.bytes > 0) return { ...unknown, count: 0 };
  if (areNoText(text, bytes)) return unknown;
  if (most === null && pattern.literals) {
    return { ...unknown, count: countLiterals(bytes, pattern.literals, between) };
  }
  const matches: number[] = [];
  let count = 0;
  for (const some of matchesOfLines(bytes, pattern, sizes, isLast, between)) {
    for (const [start, end] of some) {
      count += 1;
      if (most !== null) matches.push(start, end);
    }
    if (most !== null && count > most) return unknown;
  }
  return { ...unknown, count, matches: Uint32Array.from(matches) };
}

const NONE = new Uint32Array(0);

/** A search in pieces. */
interface Search {
  readonly text: ReadText;
  readonly pattern: FindPattern;
  readonly sizes: Sizes;
  readonly between: () => void;
}

/**
 * All matches, ascending, with the help of other threads.
 *
 * @param wanted more matches are not taken
 */
export function* matchesByThreads(search: Search, wanted: number): Generator<Iterable<Match>> {
  for (const answer of answersOf(search, Math.min(wanted, search.sizes.held))) {
    if (answer.count !== null) yield pairs(answer.matches, answer.start);
    else yield* anew(search, answer);
  }
}

/** The number of all matches, with the help of other threads. */
export function countByThreads(search: Search): number {
  let total = 0;
  for (const answer of answersOf(search, null)) {
    total += answer.count ?? 0;
    if (answer.count === null) for (const some of anew(search, answer)) for (const _match of some) total += 1;
  }
  return total;
}

/** The matches of a piece, taken one after the other. */
function* anew({ text, pattern, sizes, between }: Search, { start, end }: Answer): Generator<Iterable<Match>> {
  for (const some of matchesOfLines(text.read(start, end), pattern, sizes, end === text.bytes, between)) {
    yield moved(some, start);
  }
}

/** Starts and ends as matches, moved by so many bytes. */
export function* pairs(matches: Uint32Array, by: number): Iterable<Match> {
  for (let at = 0; at < matches.length; at += 2) yield [by + (matches[at] ?? 0), by + (matches[at + 1] ?? 0)];
}

/**
 * The answers of the pieces in their order. The first one is searched by whoever wants it. Other
 * threads begin behind it, as it may be enough, or at once if all matches are counted. While one has
 * the piece that is wanted, this one searches a later one.
 */
export function* answersOf({ text, pattern, sizes, between }: Search, most: number | null): Generator<Answer> {
  const all = piecesOf(text, sizes);
  const shared = new Int32Array(new SharedArrayBuffer(SHARED.words * Int32Array.BYTES_PER_ELEMENT));
  using room = openPageRoom(roomBytes(sizes));
  const answers = new Map<number, Answer | FailedPiece>();
  const own = (number: number) => answerOf(text, number, pattern, { sizes, most }, between, room.bytes);
  let ports: readonly MessagePort[] = [];
  function askForHelp(): void {
    if (all > (pattern.literals ? sizes.aloneForLiterals : sizes.alone))
      ports = send({ text: text.data, source: pattern.source, sizes, most, shared });
  }
  Atomics.store(shared, SHARED.next, 1);
  try {
    if (most === null) askForHelp();
    yield own(0);
    if (most !== null) askForHelp();
    for (let wanted = 1; wanted < all; wanted++) {
      Atomics.store(shared, SHARED.wanted, wanted);
      Atomics.notify(shared, SHARED.wanted);
      // No answer means that this thread searches it.
      for (let stalledMs = 0; !answers.has(wanted); ) {
        between();
        const before = Atomics.load(shared, SHARED.done);
        take(ports, answers);
        if (answers.has(wanted)) break;
        const number = Atomics.load(shared, SHARED.next) < all ? Atomics.add(shared, SHARED.next, 1) : all;
        if (number < all) answers.set(number, own(number));
        else if (stalledMs >= STALLED_MS) break;
        else if (Atomics.wait(shared, SHARED.done, before, LOOK_MS) === "timed-out") stalledMs += LOOK_MS;
      }
      const answer = answers.get(wanted);
      answers.delete(wanted);
      yield answer?.count === undefined ? own(wanted) : answer;
    }
  } finally {
    Atomics.store(shared, SHARED.stop, 1);
    Atomics.notify(shared, SHARED.wanted);
    for (const port of ports) port.close();
    if (ports.length > 0) endWhenIdle();
  }
}

/** Takes the answers that have come. */
function take(ports: readonly MessagePort[], answers: Map<number, Answer | FailedPiece>): void {
  for (const port of ports) {
    for (let one = receiveMessageOnPort(port); one; one = receiveMessageOnPort(port)) {
      const answer: Answer | FailedPiece = one.message;
      answers.set(answer.number, answer);
    }
  }
}

const threads: Worker[] = [];
let idle: NodeJS.Timeout | undefined;

/** Hands a search to the other threads, which are started if there are none. */
function send(search: Omit<SharedSearch, "port">): readonly MessagePort[] {
  clearTimeout(idle);
  while (threads.length < Math.min(availableParallelism(), MOST_THREADS) - 1) threads.push(startThread());
  return threads.map((thread) => {
    const { port1, port2 } = new MessageChannel();
    thread.postMessage({ ...search, port: port2 }, [port2]);
    port1.unref();
    return port1;
  });
}

function startThread(): Worker {
  // Flags of a caller such as --input-type are refused for a thread.
  const options = { execArgv: [], resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } };
  const thread = new Worker(entryUrl("context/find/thread-entry"), options);
  function forget(): void {
    const at = threads.indexOf(thread);
    if (at >= 0) threads.splice(at, 1);
  }
  thread.on("error", forget);
  thread.on("exit", forget);
  thread.unref();
  return thread;
}

/** Ends the threads if no search follows. They end with the thread that has started them, too. */
function endWhenIdle(): void {
  idle = setTimeout(() => {
    for (const thread of threads.splice(0)) void thread.terminate();
  }, IDLE_MS).unref();
}
