import { setImmediate } from "node:timers/promises";
import { LIMITS } from "../../../runtime/index.ts";
import { lossText } from "../../documents/conversions.ts";
import type { Converted } from "../../documents/growing.ts";
import { MOST_ORIGINAL_BYTES } from "../../documents/kinds.ts";
import type { FileDocuments } from "../../documents/read.ts";
import { boundedBytes } from "../../platform/bounded-reads.ts";
import { Unsearched } from "../find/stream-search.ts";
import type { SkippedFile } from "../skipped.ts";
import {
  type Decoding,
  decodedChunks,
  decodeText,
  firstInvalid,
  HEAD_BYTES,
  invalidBytes,
  isFew,
  mendUtf8,
  shownEncoding,
  wholeBefore,
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
  /** UTF-8 in chunks of whole characters; a converted document is one chunk. Taking one may throw Unsearched. */
  readonly chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** Options of a search: those of a load, and one of its own. */
export interface SearchReading extends LoadOptions {
  /**
   * Takes a sentence about a text whose bytes did not stay as they were. It is told when the text
   * was read. @param isDoubtful true if the text was to be searched as it is
   */
  tell(sentence: string, isDoubtful: boolean): void;
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
  const contents = ahead(found.files, (file) =>
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
    yield { name: relative, chunks: [bytes], ...facts };
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
  const chunks = openChunks(bytes, decoding);
  yield { name, chunks: chunks.all };
  const { encoding, invalid, first, size } = chunks.read();
  if (encoding !== "utf-8") options.tell(`${name}: read as ${shownEncoding(encoding)}`, false);
  if (invalid === 0) return;
  const place = first === null ? "" : `, the first at byte ${first}`;
  const isDoubtful = size > LIMITS.contextBytes && decoding.bad !== "all";
  const cure = isDoubtful ? " (--lossy allows that)" : "";
  options.tell(`${name}: ${lossText(invalidBytes(encoding), invalid)}, read as U+FFFD${place}${cure}`, isDoubtful);
}

/** Facts about the chunks of a text so far. */
interface ChunkFacts {
  readonly encoding: string;
  readonly size: number;
  /** Bytes that are not of the encoding, and the place of the first one in a text of UTF-8. */
  readonly invalid: number;
  readonly first: number | null;
}

/** Decoded chunks, and what is known of them so far. */
interface DecodedChunks {
  readonly all: AsyncGenerator<Uint8Array>;
  read(): ChunkFacts;
}

function openChunks(bytes: AsyncIterable<Uint8Array>, decoding: Decoding): DecodedChunks {
  let facts: ChunkFacts = { encoding: "utf-8", size: 0, invalid: 0, first: null };
  const onEncoding = (encoding: string) => {
    facts = { ...facts, encoding };
  };
  async function* all() {
    let isFirst = true;
    for await (const chunk of wholeCharacters(decodedChunks(bytes, decoding.encoding, onEncoding))) {
      const { encoding, size, invalid, first } = facts;
      const text = mendUtf8(chunk, encoding);
      const isBad = text.invalid > 0 && first === null && encoding === "utf-8";
      facts = {
        encoding,
        size: size + chunk.length,
        invalid: invalid + text.invalid,
        first: isBad ? size + firstInvalid(chunk) : first,
      };
      if (decoding.bad !== "all" && !isFew(facts.invalid, facts.size)) {
        yield chunk.subarray(0, firstInvalid(chunk));
        throw new Unsearched(notText(facts));
      }
      yield isFirst ? withoutMark(text.bytes) : text.bytes;
      isFirst = false;
    }
  }
  return { all: all(), read: () => facts };
}

function notText({ encoding, invalid, first }: ChunkFacts): string {
  const place = first === null ? "" : `, the first at byte ${first}`;
  return `has ${lossText(invalidBytes(encoding), invalid)}${place}; --lossy reads them as U+FFFD`;
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

/** Cuts chunks at the ends of characters. Bytes that are not UTF-8 stay what they are. */
async function* wholeCharacters(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = new Uint8Array();
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = wholeBefore(bytes);
    rest = Uint8Array.from(bytes.subarray(end));
    if (end > 0) yield bytes.subarray(0, end);
  }
  if (rest.length > 0) yield rest;
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
