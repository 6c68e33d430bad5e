import { existsSync, statSync } from "node:fs";
import { openText, type Text, type TextData } from "../text/text.ts";
import { writeIndexFile } from "./index-file.ts";
import { type Chunk, chunksOf, type Span, seedOf, segmentOf } from "./segment.ts";

/** The parts of an index that is being built. Plain data, which can be sent between threads. */
export interface Parts {
  readonly text: TextData;
  /** Ranges of P that are searched, sorted, not overlapping, UTF-16 units. */
  readonly documents: readonly Span[];
  /** sha256 of P's UTF-8, hex. */
  readonly hash: string;
  /** The path of the whole index, and what it is an index of. */
  readonly path: string;
  readonly mark: string;
  /** Words that the threads of a build share. */
  readonly shared: Int32Array;
}

/**
 * Words of `shared`: the next part that nobody has begun, the number of those that are done, their
 * bytes, and 1 to end the build.
 */
export const SHARED = { next: 0, done: 1, bytes: 2, stop: 3, words: 4 } as const;

/** Bytes of P in a part: a thread works on one for about 50 ms. */
const PART_BYTES = 2 * 1024 * 1024;
/** Half of the time after which a machine that continues past its limit is ended from outside. */
const LATE_MS = 250;

/** The chunks of each part, the same in every thread. */
export function planOf(text: Text, documents: readonly Span[]): readonly (readonly Chunk[])[] {
  const plan: Chunk[][] = [];
  let room = 0;
  for (const chunk of chunksOf(text, documents)) {
    if (room <= 0) {
      plan.push([]);
      room = PART_BYTES;
    }
    plan.at(-1)?.push(chunk);
    room -= chunk.to - chunk.from;
  }
  return plan;
}

export function partPath({ path }: Pick<Parts, "path">, number: number): string {
  return `${path}.${number}.part`;
}

/**
 * Builds parts until there is none that nobody has begun. Those that an earlier build has left stay
 * as they are.
 *
 * @param between is called again and again, and may throw to end the build. The first part has
 * LATE_MS more, so that a build makes progress, however little time it has.
 */
export function buildParts(parts: Parts, plan: readonly (readonly Chunk[])[], between: () => void): void {
  const { shared, mark } = parts;
  const text = openText(parts.text);
  const seed = seedOf(parts.hash);
  let firstOrNot = lateBy(LATE_MS, between);
  while (Atomics.load(shared, SHARED.stop) === 0) {
    const number = Atomics.add(shared, SHARED.next, 1);
    const chunks = plan[number];
    if (!chunks) return;
    const path = partPath(parts, number);
    if (!existsSync(path)) {
      writeIndexFile(path, mark, [segmentOf(text, chunks, seed, firstOrNot)]);
      firstOrNot = between;
    }
    Atomics.add(shared, SHARED.bytes, statSync(path).size);
    Atomics.add(shared, SHARED.done, 1);
    Atomics.notify(shared, SHARED.done);
    between();
  }
}

/** `between`, but what it throws is held back for some ms. */
function lateBy(ms: number, between: () => void): () => void {
  let since: number | undefined;
  return () => {
    try {
      between();
    } catch (error) {
      since ??= performance.now();
      if (performance.now() - since > ms) throw error;
    }
  };
}
