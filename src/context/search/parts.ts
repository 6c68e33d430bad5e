import { existsSync, statSync } from "node:fs";
import { PAGE_BYTES } from "../../platform/checked-file.ts";
import { openPageRoom, type PageRoom } from "../../platform/page-sums.ts";
import { openText, type TextData } from "../text/text.ts";
import { writeIndexFile } from "./index-file.ts";
import { type Plan, partsIn, spansOf } from "./plan.ts";
import { openSegmentMaker } from "./segment.ts";
import { seedOf } from "./slots.ts";

/** The parts of an index that is being built. Plain data, which can be sent between threads. */
export interface Parts {
  readonly text: TextData;
  readonly plan: Plan;
  /** sha256 of P's UTF-8, hex; of a large P, sha256 of its parts. */
  readonly hash: string;
  /** The path of the whole index, and what it is an index of. */
  readonly path: string;
  readonly mark: string;
  /** Words that the threads of a build share. */
  readonly shared: Int32Array;
}

/**
 * Words of `shared`: the next part that nobody has begun, the number of those that are done, their
 * KB, and 1 to end the build.
 */
export const SHARED = { next: 0, done: 1, kb: 2, stop: 3, words: 4 } as const;

/** Half of the time after which a machine that continues past its limit is ended from outside. */
const LATE_MS = 250;

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
export function buildParts(parts: Parts, between: () => void): void {
  const { shared, mark, plan } = parts;
  using text = openText(parts.text);
  const maker = openSegmentMaker(seedOf(parts.hash));
  using room = openGrowingRoom();
  let firstOrNot = lateBy(LATE_MS, between);
  while (Atomics.load(shared, SHARED.stop) === 0) {
    const number = Atomics.add(shared, SHARED.next, 1);
    if (number >= partsIn(plan)) return;
    const path = partPath(parts, number);
    if (!existsSync(path)) {
      const spans = spansOf(plan, number);
      const from = text.byteAt(spans[0]?.start ?? 0);
      const to = text.byteAt(spans.at(-1)?.end ?? 0);
      const bytes = text.read(from, to, text.large && room.for(to - from));
      writeIndexFile(path, mark, [maker.segmentOf(bytes, spans, firstOrNot)]);
      firstOrNot = between;
    }
    Atomics.add(shared, SHARED.kb, Math.ceil(statSync(path).size / 1024));
    Atomics.add(shared, SHARED.done, 1);
    Atomics.notify(shared, SHARED.done);
    between();
  }
}

/** Memory in which parts of checked files are read one after the other. */
interface GrowingRoom extends Disposable {
  /** Memory for so many bytes. It has the place of that before. */
  for(bytes: number): Buffer;
}

export function openGrowingRoom(): GrowingRoom {
  let room: PageRoom | undefined;
  return {
    for(bytes) {
      // Their pages are read whole.
      const needed = bytes + 2 * PAGE_BYTES;
      if (!room || room.bytes.length < needed) room = openPageRoom(needed);
      return room.bytes;
    },
    [Symbol.dispose]: () => room?.[Symbol.dispose](),
  };
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
