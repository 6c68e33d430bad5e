import { isUtf8 } from "node:buffer";
import { setImmediate } from "node:timers/promises";
import { lossText } from "../../documents/conversions.ts";
import { type Converted, GUESSED_ENCODING } from "../../documents/growing.ts";
import { MOST_ORIGINAL_BYTES } from "../../documents/kinds.ts";
import type { FileDocuments } from "../../documents/read.ts";
import { boundedBytes } from "../../platform/bounded-reads.ts";
import type { FileInPlace, MendedText } from "../find/lines-in-place.ts";
import { Unsearched } from "../find/stream-search.ts";
import type { SkippedFile } from "../skipped.ts";
import {
  type Decoding,
  decodedChunks,
  decodeText,
  HEAD_BYTES,
  invalidBytes,
  isFew,
  labelOf,
  markOf,
  mendUtf8,
  shownEncoding,
  wholeBefore,
  withoutMark,
} from "../text/decode.ts";
import { openPlainText } from "../text/plain-text.ts";
import { ahead, bytesOf, documentsOfFile, readSearched, rulesOf } from "./file-content.ts";
import { findFiles } from "./paths.ts";
import { FILE_COST_BYTES, type LoadOptions, pauseFor } from "./reading.ts";
import { openRoots, openStepped, type Refusal, type Roots, type SteppedFile } from "./roots.ts";
import { SMALL } from "./size.ts";

/** A text to search: a file, a document of an archive, or a stream. */
export interface SearchedText extends Partial<Converted> {
  /** The path as it was typed, with what lies below it. */
  readonly name: string;
  /** UTF-8 in chunks of whole characters; a converted document is one chunk. Taking one may throw Unsearched. */
  readonly chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** The same text if it is a large file of UTF-8. Either is taken. */
  readonly file?: FileInPlace;
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
  const told = (bytes: number) => {
    size.bytes += bytes;
    options.onProgress?.(size);
  };
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
    if ("size" in content) yield* largeFile(roots, path, typed, options, told);
    else {
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
  const original = bytes && { way, bytes, decoding: rules.decoding };
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

async function* largeFile(
  roots: Roots,
  path: string,
  name: string,
  options: SearchReading,
  onSearched: (bytes: number) => void,
) {
  const file = openStepped(roots, path);
  if ("reason" in file) {
    yield { path: name, reason: file.reason };
    return;
  }
  try {
    const room = Buffer.alloc(HEAD_BYTES);
    const head = room.subarray(0, file.fill(room, 0));
    yield* textIn(bytesOfFile(file, onSearched), { name, head, file, onSearched }, options);
    // Lines behind the end of a log take nothing away.
    if (file.isRewritten()) options.tell(`${name} was changed while it was searched: search it again`, true);
  } finally {
    file[Symbol.dispose]();
  }
}

interface Beginning {
  readonly name: string;
  readonly head: Uint8Array;
  /** The file that it begins; absent: a stream. */
  readonly file?: SteppedFile;
  readonly onSearched?: (bytes: number) => void;
}

/** A text that is read in chunks, or why its beginning is not one. */
async function* textIn(bytes: AsyncIterable<Uint8Array>, beginning: Beginning, options: SearchReading) {
  const { name, head } = beginning;
  const { decoding: asked } = rulesOf(options);
  const text = decodeText(head, asked);
  if ("reason" in text) {
    yield { path: name, reason: text.reason };
    return;
  }
  const isGuessed = text.lost?.some(({ kind }) => kind === GUESSED_ENCODING);
  const decoding = isGuessed ? { ...asked, encoding: text.original?.encoding } : asked;
  const mender = openMender(decoding);
  const file = inPlace(beginning, decoding, mender);
  yield { name, chunks: mendedChunks(bytes, decoding, mender), ...(file ? { file } : {}) };
  const { encoding, invalid, first, size } = mender.read();
  if (encoding !== "utf-8") options.tell(`${name}: read as ${shownEncoding(encoding)}`, false);
  if (invalid === 0) return;
  const isLarge = Math.max(size, beginning.file?.size ?? 0) > SMALL.bytes;
  const isDoubtful = isLarge && decoding.bad !== "all";
  const cure = isDoubtful ? " (--lossy allows that)" : "";
  const lost = lossText(invalidBytes(encoding), invalid);
  options.tell(`${name}: ${lost}, read as U+FFFD${placeOf(first)}${cure}`, isDoubtful);
}

/** A large file of UTF-8, which is searched where it lies; undefined for any other text. */
function inPlace({ head, file, onSearched }: Beginning, decoding: Decoding, mender: Mender): FileInPlace | undefined {
  if (!file || !onSearched || file.size <= SMALL.bytes) return undefined;
  const mark = markOf(head);
  if ((mark?.label ?? labelOf(decoding.encoding)) !== "utf-8") return undefined;
  const { descriptor, size } = file;
  const length = mark?.length ?? 0;
  return {
    text: openPlainText({ descriptor, mark: length, bytes: size - length }),
    mend: (bytes, at) => mender.mend(bytes, at + length),
    onSearched,
  };
}

/** Facts about the bytes of a text so far. */
interface MendedFacts {
  readonly encoding: string;
  /** The end of the bytes that were mended last. */
  readonly size: number;
  /** Bytes that are not of the encoding, and the place of the first one in a text of UTF-8. */
  readonly invalid: number;
  readonly first: number | null;
}

/** Makes UTF-8 of decoded bytes, and knows what was lost. */
interface Mender {
  onEncoding(label: string): void;
  mend(chunk: Uint8Array, at: number): MendedText;
  read(): MendedFacts;
}

function openMender(decoding: Decoding): Mender {
  let facts: MendedFacts = { encoding: "utf-8", size: 0, invalid: 0, first: null };
  return {
    onEncoding(encoding) {
      facts = { ...facts, encoding };
    },
    mend(chunk, at) {
      const { encoding, invalid, first } = facts;
      const text = mendUtf8(chunk, encoding);
      const isFirst = text.invalid > 0 && first === null && encoding === "utf-8";
      facts = {
        encoding,
        size: at + chunk.length,
        invalid: invalid + text.invalid,
        first: isFirst ? at + firstInvalid(chunk) : first,
      };
      if (decoding.bad === "all" || isFew(facts.invalid, facts.size)) return { bytes: text.bytes, failure: null };
      return { bytes: chunk.subarray(0, firstInvalid(chunk)), failure: new Unsearched(notText(facts), true) };
    },
    read: () => facts,
  };
}

/** The place of the first byte that is not UTF-8. */
function firstInvalid(bytes: Uint8Array): number {
  let from = 0;
  let to = bytes.length;
  // The bytes before `from` are valid, and those before `to` are not.
  while (to - from > 1) {
    const middle = (from + to) >> 1;
    const end = wholeBefore(bytes.subarray(0, middle));
    if (isUtf8(bytes.subarray(0, end))) from = middle;
    else to = middle;
  }
  return wholeBefore(bytes.subarray(0, from));
}

async function* mendedChunks(bytes: AsyncIterable<Uint8Array>, { encoding }: Decoding, mender: Mender) {
  let size = 0;
  for await (const chunk of wholeCharacters(decodedChunks(bytes, encoding, mender.onEncoding))) {
    const { bytes: text, failure } = mender.mend(chunk, size);
    yield size === 0 ? withoutMark(text) : text;
    if (failure) throw failure;
    size += chunk.length;
  }
}

function notText({ encoding, invalid, first }: MendedFacts): string {
  return `has ${lossText(invalidBytes(encoding), invalid)}${placeOf(first)}`;
}

const placeOf = (first: number | null) => (first === null ? "" : `, the first at byte ${first}`);

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
async function* bytesOfFile({ size, fill }: SteppedFile, onRead: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    // One byte more shows that a file has ended.
    const buffer = Buffer.allocUnsafeSlow(Math.min(Math.max(size - position, 0) + 1, STEP_BYTES));
    const count = fill(buffer, position);
    if (count > 0) yield buffer.subarray(0, count);
    onRead(count);
    if (count < buffer.length) return;
    position += count;
    await setImmediate();
  }
}
