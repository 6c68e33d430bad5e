import { setImmediate } from "node:timers/promises";
import type { SteppedFile } from "./roots.ts";

/** Bytes of a text that are searched at once, if a pattern stays within a line. */
const BLOCK_BYTES = 4 * 2 ** 20;
/** Most bytes that are held at once: of one line, or of a text whose lines are searched together. */
const MOST_HELD_BYTES = 2 ** 30;

/** A text that cannot be held. The message is a reason as skipped files have it. */
export class TooLong extends Error {}

const LINE_FEED = 0x0a;

/**
 * Gives a text in blocks of whole lines, or as one block. Only one block is in memory, so that its size does not count.
 *
 * @param isWhole true if the text is one block
 * @throws TooLong if a line, or the text that is to be one block, is longer than 1 GB
 */
export async function* blocksOf(source: AsyncIterable<Uint8Array>, isWhole: boolean): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let size = 0;
  for await (const bytes of source) {
    held.push(bytes);
    size += bytes.length;
    if (size > MOST_HELD_BYTES) throw new TooLong(isWhole ? TEXT_TOO_LONG : LINE_TOO_LONG);
    const lastLine = isWhole || size < BLOCK_BYTES ? -1 : bytes.lastIndexOf(LINE_FEED);
    if (lastLine < 0) continue;
    const rest = bytes.subarray(lastLine + 1);
    held[held.length - 1] = bytes.subarray(0, lastLine + 1);
    yield joined(held);
    held = [rest];
    size = rest.length;
  }
  if (size > 0) yield joined(held);
}

const LINE_TOO_LONG = "has a line that is larger than 1 GB";
const TEXT_TOO_LONG = "is larger than 1 GB, and the pattern may match over several lines";

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only = new Uint8Array()] = parts;
  return parts.length <= 1 ? only : Buffer.concat(parts);
}

/** Bytes of a file that are read at once. */
const STEP_BYTES = 2 ** 20;

/** Reads a file from its beginning to its end, and lets the thread do other things in between. */
export async function* bytesOfFile({ size, fill }: Pick<SteppedFile, "size" | "fill">): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    // One byte more shows that a file has ended.
    const buffer = Buffer.allocUnsafeSlow(Math.min(Math.max(size - position, 0) + 1, STEP_BYTES));
    const count = fill(buffer, position);
    if (count > 0) yield buffer.subarray(0, count);
    if (count < buffer.length) return;
    position += count;
    await setImmediate();
  }
}
