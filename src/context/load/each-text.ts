import { setImmediate } from "node:timers/promises";
import { lossText } from "../../documents/conversions.ts";
import type { Converted } from "../../documents/growing.ts";
import { MOST_ORIGINAL_BYTES } from "../../documents/kinds.ts";
import type { FileDocuments } from "../../documents/read.ts";
import { boundedBytes } from "../../platform/bounded-reads.ts";
import type { SkippedFile } from "../skipped.ts";
import {
  decodedChunks,
  decodeText,
  HEAD_BYTES,
  invalidBytes,
  mendUtf8,
  shownEncoding,
  withoutMark,
} from "../text/decode.ts";
import { ahead, bytesOf, documentsOfFile, readSearched, rulesOf } from "./file-content.ts";
import { findFiles } from "./paths.ts";
import { FILE_COST_BYTES, type LoadOptions, pauseFor } from "./reading.ts";
import { openRoots, openStepped, type Refusal, type Roots, type SteppedFile } from "./roots.ts";

/** A text to search: a file, a document of an archive, or a stream. */
export interface SearchedText extends Partial<Converted> {
  /** The path as it was typed, with what lies below it. */
  readonly name: string;
  /**
   * UTF-8 in blocks of whole lines; a converted document is one block. Taking one may throw
   * TooLong.
   */
  readonly blocks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** Options of a search: those of a load, and two of its own. */
export interface SearchReading extends LoadOptions {
  /** True if a text is to be one block, since a match may go over lines. */
  readonly isWhole: boolean;
  /**
   * Takes a sentence about a text whose bytes did not stay as they were. It is told when the text
   * was read.
   */
  tell(sentence: string): void;
}

/** A larger text is read in blocks. */
const WHOLE_BYTES = 16 * 2 ** 20;

/**
 * Gives the texts that the paths name one after the other, and the files that have none with the
 * reason. None is kept, so that neither their number nor their size has a limit. A text is to be
 * taken before the next one is asked for.
 *
 * @throws RlmError as `load` does
 */
export async function* textsAt(
  paths: readonly string[],
  options: SearchReading,
): AsyncGenerator<SearchedText | SkippedFile> {
  const size = { files: 0, bytes: 0 };
  const pause = pauseFor(options, size);
  const rules = rulesOf(options);
  const roots = openRoots(options.roots, options.cwd);
  const found = await findFiles({ paths, folder: options.cwd }, roots, { pause, how: options.documents ?? {} });
  yield* found.skipped;
  const contents = ahead(found.files.values(), (file) =>
    documentsOfFile(
      readSearched(roots, file.path, WHOLE_BYTES, rules),
      { ...file, relative: file.typed },
      options,
      size,
    ),
  );
  for await (const [{ path, typed }, content] of contents) {
    size.files += 1;
    if ("size" in content) {
      size.bytes += content.size;
      yield* largeFile(roots, path, typed, options);
    } else {
      size.bytes += bytesOf(content);
      yield* documentsIn(content, typed);
    }
    await pause(FILE_COST_BYTES);
  }
}

/** Gives the text of a stream, or those of the document that it is. */
export async function* textsOfStream(
  stream: AsyncIterable<Uint8Array>,
  name: string,
  options: SearchReading,
): AsyncGenerator<SearchedText | SkippedFile> {
  const { head, all } = await startOf(stream);
  const rules = rulesOf(options);
  const way = rules.wayOf(head, name);
  if (way === null) {
    yield* textIn(all, { name, head }, options);
    return;
  }
  const bytes = await boundedBytes(all, MOST_ORIGINAL_BYTES);
  const tooBig = { reason: `is larger than ${MOST_ORIGINAL_BYTES / 2 ** 20} MB` };
  const original = bytes && { way, bytes, decoding: rules.decoding(false) };
  const content = original ? await documentsOfFile(original, { relative: name, path: "-" }, options) : tooBig;
  if (!("size" in content)) yield* documentsIn(content, name);
}

function* documentsIn(content: FileDocuments | Refusal, name: string) {
  if ("reason" in content) {
    yield { path: name, reason: content.reason };
    return;
  }
  yield* content.skipped;
  for (const { relative, bytes, original, places, lost } of content.files) {
    const facts = original && places && lost ? { original, places, lost } : {};
    yield { name: relative, blocks: [bytes], ...facts };
  }
}

async function* largeFile(roots: Roots, path: string, name: string, options: SearchReading) {
  const file = openStepped(roots, path);
  if ("reason" in file) {
    yield { path: name, reason: file.reason };
    return;
  }
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    const length = file.fill(head, 0);
    yield* textIn(bytesOfFile(file), { name, head: head.subarray(0, length) }, options);
  } finally {
    file[Symbol.dispose]();
  }
}

interface Beginning {
  readonly name: string;
  readonly head: Uint8Array;
}

/** A text that is read in blocks, or why its beginning is not one. */
async function* textIn(bytes: AsyncIterable<Uint8Array>, { name, head }: Beginning, options: SearchReading) {
  const decoding = rulesOf(options).decoding(false);
  const text = decodeText(head, decoding);
  if ("reason" in text) {
    yield { path: name, reason: text.reason };
    return;
  }
  const blocks = openBlocks(bytes, decoding.encoding, options.isWhole);
  yield { name, blocks: blocks.all };
  const { encoding, invalid } = blocks.read();
  if (encoding !== "utf-8") options.tell(`${name}: read as ${shownEncoding(encoding)}`);
  if (invalid > 0) options.tell(`${name}: ${lossText(invalidBytes(encoding), invalid)}, read as U+FFFD`);
}

/** Decoded blocks, and what they were decoded from so far. */
function openBlocks(bytes: AsyncIterable<Uint8Array>, given: string | undefined, isWhole: boolean) {
  let encoding = "utf-8";
  let invalid = 0;
  const onEncoding = (label: string) => {
    encoding = label;
  };
  async function* all() {
    let isFirst = true;
    for await (const block of blocksOf(decodedChunks(bytes, given, onEncoding), isWhole)) {
      const text = mendUtf8(block, encoding);
      invalid += text.invalid;
      yield isFirst ? withoutMark(text.bytes) : text.bytes;
      isFirst = false;
    }
  }
  return { all: all(), read: () => ({ encoding, invalid }) };
}

/** The first bytes of a stream, and all of it. */
async function startOf(stream: AsyncIterable<Uint8Array>) {
  const iterator = stream[Symbol.asyncIterator]();
  const start: Uint8Array[] = [];
  let size = 0;
  while (size < HEAD_BYTES) {
    const next = await iterator.next();
    if (next.done) break;
    start.push(next.value);
    size += next.value.length;
  }
  async function* all() {
    yield* start;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { head: Buffer.concat(start).subarray(0, HEAD_BYTES), all: all() };
}

/** Bytes of a text that are searched at once, if a pattern stays within a line. */
const BLOCK_BYTES = 4 * 2 ** 20;
/**
 * Most bytes that are held at once: of one line, or of a text whose lines are searched together.
 */
const MOST_HELD_BYTES = 2 ** 30;

/** A text that cannot be held. The message is a reason as skipped files have it. */
export class TooLong extends Error {}

const LINE_FEED = 0x0a;

/**
 * Gives a text in blocks of whole lines, or as one block. Only one block is in memory, so that its
 * size does not count.
 *
 * @param isWhole true if the text is one block
 * @throws TooLong if a line, or the text that is to be one block, is longer than 1 GB
 */
async function* blocksOf(source: AsyncIterable<Uint8Array>, isWhole: boolean): AsyncGenerator<Uint8Array> {
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
async function* bytesOfFile({ size, fill }: Pick<SteppedFile, "size" | "fill">): AsyncGenerator<Uint8Array> {
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
