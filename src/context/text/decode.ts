import { isAscii, isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { type Converted, GUESSED_ENCODING } from "../../documents/growing.ts";
import { countOf, type Invalid, openReplaced, REPLACEMENT } from "./replaced.ts";

// The process of a reader runs this file, and can read nothing outside of `src/context`. All bytes
// that become text come through this file: contexts, members of archives, stdin and tables of jobs.

/** The way in which bytes become characters. */
export interface Decoding {
  /**
   * A label of the Encoding Standard, such as `gbk`, for texts without a byte order mark. Absent:
   * UTF-8.
   */
  readonly encoding?: string | undefined;
  /**
   * The bytes that become U+FFFD although they are not of the encoding. A text with more of them is
   * refused.
   */
  readonly bad: "none" | "few" | "all";
}

/**
 * Text as UTF-8 without a byte order mark. If its bytes did not stay as they were, with what was
 * made of them.
 */
export interface DecodedText extends Partial<Omit<Converted, "original">> {
  readonly bytes: Uint8Array;
  readonly original?: TextOriginal;
}

/** The bytes that a text was decoded from. */
interface TextOriginal {
  readonly kind: "text";
  readonly sha256: string;
  readonly bytes: number;
  readonly encoding: string;
}

/** Version of the rules in this file. Raise it if the same bytes give another text. */
export const TEXT_VERSION = 2;
/** Bytes of a file that decide its kind. */
export const HEAD_BYTES = 8 * 1024;

/** Bytes of a text, which are read from their beginning as often as they are needed. */
export interface TextBytes {
  readonly length: number;
  /** All of them. A slice stays as it is until the next one is asked for. */
  slices(): Iterable<Uint8Array>;
}

/** A text that was read once, and can be read again as UTF-8 without a byte order mark. */
export interface SurveyedText extends Pick<DecodedText, "original" | "places" | "lost"> {
  /** Bytes of UTF-8. */
  readonly length: number;
  /** The text. A piece stays as it is until the next one is asked for. */
  pieces(): Iterable<Uint8Array>;
}

/** The text that the bytes are, or why they are none. */
export function decodeText(bytes: Uint8Array, decoding: Decoding): DecodedText | { readonly reason: string } {
  const work = surveyText(slicesOf(bytes), decoding);
  for (;;) {
    const step = work.next();
    if (!step.done) continue;
    if ("reason" in step.value) return step.value;
    const { length, pieces, ...facts } = step.value;
    return { bytes: facts.original ? Buffer.concat([...pieces()]) : bytes.subarray(bytes.length - length), ...facts };
  }
}

function slicesOf(bytes: Uint8Array): TextBytes {
  return {
    length: bytes.length,
    *slices() {
      for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
    },
  };
}

/**
 * Reads a text to tell which it is, or why it is none. Yields the number of bytes that each step has
 * read.
 */
export function* surveyText(
  bytes: TextBytes,
  { encoding, bad }: Decoding,
): Generator<number, SurveyedText | { readonly reason: string }> {
  const head = headOf(bytes);
  const { label, length: mark } = markOf(head) ?? { label: labelOf(encoding), length: 0 };
  const body = head.subarray(mark);
  const isWide = label.startsWith("utf-16");
  const problem = isWide ? utf32In(head) : binaryBy(body);
  if (problem !== null) return { reason: problem };
  const length = bytes.length - mark;
  const seen = { isJapanese: false, isAscii: true };
  if (label === "utf-8" && (yield* isValidUtf8(watched(withoutStart(bytes, mark), seen)))) {
    const isGuessed = encoding === undefined && mark === 0 && seen.isJapanese && seen.isAscii;
    const japanese = isGuessed ? yield* surveyText(bytes, { encoding: JAPANESE, bad: "few" }) : null;
    if (japanese && !("reason" in japanese)) return { ...japanese, lost: [...(japanese.lost ?? []), GUESS] };
    return { length, pieces: () => withoutStart(bytes, mark) };
  }
  if (!isWide && hasControls(body)) return { reason: "binary (control characters in the first 8 KB)" };
  const decoded = () => decodedSlices(withoutStart(bytes, mark), label);
  if (isWide && binaryBy(firstOf(decoded())) !== null) return { reason: `binary (NUL in ${shownEncoding(label)})` };
  const { size, sha256, ...invalid } = yield* readInvalid(bytes, mark, label);
  const isTaken = bad === "all" || invalid.count === 0 || (bad === "few" && isFew(invalid.count, length));
  if (!isTaken) return { reason: `not ${shownEncoding(label)} in ${toldInvalid(invalid, length)}` };
  const lost = invalid.count === 0 ? [] : [{ kind: invalidBytes(label), ...invalid }];
  const original = { kind: "text", sha256, bytes: bytes.length, encoding: label } as const;
  return { length: size, pieces: decoded, original, places: [], lost };
}

export const JAPANESE = "iso-2022-jp";
const GUESS = { kind: GUESSED_ENCODING, count: 1, where: [JAPANESE] };

/** True for ASCII that goes to Japanese characters and back by escapes. */
export function isJapanese(bytes: Uint8Array): boolean {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const has = (sign: string) => all.includes(`\u001b${sign}`);
  return (has("$B") || has("$@")) && (has("(B") || has("(J")) && isAscii(bytes);
}

/** The slices, of which it is noted what they are. */
function* watched(slices: Iterable<Uint8Array>, seen: { isJapanese: boolean; isAscii: boolean }) {
  for (const slice of slices) {
    seen.isAscii &&= isAscii(slice);
    seen.isJapanese ||= seen.isAscii && isJapanese(slice);
    yield slice;
  }
}

/** The bytes that tell the kind of a text, and a mark before them. */
function headOf(bytes: TextBytes): Uint8Array {
  return Buffer.from(firstOf(bytes.slices()).subarray(0, HEAD_BYTES + MARK_BYTES));
}

function firstOf(slices: Iterable<Uint8Array>): Uint8Array {
  for (const slice of slices) return slice;
  return new Uint8Array();
}

/** @param length the number of bytes that are left out, at most that of the first slice */
function* withoutStart({ slices }: Pick<TextBytes, "slices">, length: number): Generator<Uint8Array> {
  let left = length;
  for (const slice of slices()) {
    yield slice.subarray(left);
    left = 0;
  }
}

function* isValidUtf8(slices: Iterable<Uint8Array>): Generator<number, boolean> {
  let rest = Buffer.alloc(0);
  for (const slice of slices) {
    const joined = rest.length === 0 ? slice : Buffer.concat([rest, slice]);
    const end = wholeBefore(joined);
    if (!isUtf8(joined.subarray(0, end))) return false;
    rest = Buffer.from(joined.subarray(end));
    yield slice.length;
  }
  return isUtf8(rest);
}

/** The end of the last character that is whole. */
export function wholeBefore(bytes: Uint8Array): number {
  for (let at = bytes.length - 1; at >= Math.max(0, bytes.length - 3); at--) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return at + length > bytes.length ? at : bytes.length;
  }
  return bytes.length;
}

/**
 * Chunks of a text as UTF-8, of which a mark may stay at the beginning. Bytes of UTF-8 pass as they
 * are, and those that are not of another encoding become U+FFFD. @param onEncoding called once, before
 * the first chunk, with the encoding
 */
export async function* decodedChunks(
  chunks: AsyncIterable<Uint8Array>,
  encoding: string | undefined,
  onEncoding: (encoding: string) => void,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  // A pipe may wait behind a first line that is shorter than a mark.
  while (head.length < MARK_BYTES && (head.length === 0 || MARKS.has(head[0] ?? 0))) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const label = markOf(head)?.label ?? labelOf(encoding);
  onEncoding(label);
  const decoder = label === "utf-8" ? null : new TextDecoder(label);
  const read = (chunk: Uint8Array) => (decoder ? Buffer.from(decoder.decode(chunk, { stream: true })) : chunk);
  yield read(head);
  for await (const chunk of { [Symbol.asyncIterator]: () => iterator }) yield read(chunk);
  if (decoder) yield Buffer.from(decoder.decode());
}

/**
 * Valid UTF-8 for a part of a decoded text, and how many bytes that are not of its encoding are
 * U+FFFD in it.
 */
export function mendUtf8(bytes: Uint8Array, label: string): { readonly bytes: Uint8Array; readonly invalid: number } {
  if (label !== "utf-8") return { bytes, invalid: countOf(bytes, REPLACEMENT) };
  if (isUtf8(bytes)) return { bytes, invalid: 0 };
  const work = readInvalid(slicesOf(bytes), 0, label);
  for (;;) {
    const step = work.next();
    if (step.done) return { bytes: decoded(bytes, label), invalid: step.value.count };
  }
}

/** UTF-8 without a byte order mark. */
export function withoutMark(bytes: Buffer): Buffer;
export function withoutMark(bytes: Uint8Array): Uint8Array;
export function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(markOf(bytes)?.label === "utf-8" ? MARK_BYTES : 0);
}

const MARK_BYTES = 3;
/** First bytes of the marks. */
const MARKS: ReadonlySet<number> = new Set([0xef, 0xff, 0xfe]);

/**
 * The Encoding Standard's own name of an encoding.
 *
 * @throws RangeError for a name that it does not have
 */
export const labelOf = (name = "utf-8"): string => new TextDecoder(name).encoding;

/** The encoding that a byte order mark names, and the length of the mark; null without one. */
export function markOf([first, second, third]: Uint8Array): { readonly label: string; readonly length: number } | null {
  if (first === 0xef && second === 0xbb && third === 0xbf) return { label: "utf-8", length: 3 };
  if (first === 0xff && second === 0xfe) return { label: "utf-16le", length: 2 };
  if (first === 0xfe && second === 0xff) return { label: "utf-16be", length: 2 };
  return null;
}

/** Files that no load unpacks, by their first bytes as hex, and the program that does. */
const PACKINGS: readonly (readonly [magic: RegExp, program: string])[] = [
  [/^425a683[1-9]314159265359/, "bzip2"],
  [/^fd377a585a00/, "xz"],
];

/** The program that unpacks a file which begins so; null if no load needs one. */
export function packedBy(head: Uint8Array): string | null {
  const start = Buffer.from(head.subarray(0, 10)).toString("hex");
  return PACKINGS.find(([magic]) => magic.test(start))?.[1] ?? null;
}

/**
 * Says why a file that begins so is not a text of bytes; null if there is no sign of that in its
 * head.
 */
export function binaryBy(bytes: Uint8Array): string | null {
  const program = packedBy(bytes);
  if (program !== null) return `compressed by ${program}, which \`${program} -dc\` unpacks`;
  const head = bytes.subarray(0, HEAD_BYTES);
  if (!head.includes(0)) return null;
  const wide = utf32In(head);
  if (wide !== null) return wide;
  const label = wideWithoutMark(head);
  return label === null ? "binary (NUL in the first 8 KB)" : `${label} without a byte order mark`;
}

/** Says that a head is UTF-32, whose characters have four bytes; null: it is not. */
function utf32In(head: Uint8Array): string | null {
  if (head.length % 4 > 0) return null;
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  const isLittle = isText(Array.from({ length: head.length / 4 }, (_, at) => view.getUint32(4 * at, true)));
  const isBig = isText(Array.from({ length: head.length / 4 }, (_, at) => view.getUint32(4 * at, false)));
  if (isLittle === isBig) return null;
  return `${isLittle ? "UTF-32LE" : "UTF-32BE"}, which \`iconv\` turns into UTF-8`;
}

/** True if all of these are code points of a text, with a mark in front or white space between: numbers have neither. */
function isText(points: readonly number[]): boolean {
  if (!points.every(isOfText)) return false;
  return points[0] === BYTE_ORDER_MARK || (points.length >= 4 && points.some((point) => WHITE_SPACE.has(point)));
}

function isOfText(point: number): boolean {
  if (point < 0x20) return TEXT_CONTROLS.has(point);
  return point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
}

const BYTE_ORDER_MARK = 0xfeff;
const WHITE_SPACE: ReadonlySet<number> = new Set([0x09, 0x0a, 0x20]);

const LEAST_WIDE = 4;

/** UTF-16 of mostly Latin letters has a NUL in every other byte, and in no byte between. */
function wideWithoutMark(head: Uint8Array): string | null {
  const nuls = [0, 0];
  for (const [at, byte] of head.entries()) if (byte === 0) nuls[at % 2] = (nuls[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = nuls;
  const isMost = head.length >= LEAST_WIDE && Math.max(even, odd) > head.length / 4;
  if (!isMost || Math.min(even, odd) > 0 || hasControls(head.filter((byte) => byte !== 0))) return null;
  return odd > 0 ? "UTF-16LE" : "UTF-16BE";
}

/** True if a head has control characters as no text has them: random bytes have one in ten. */
function hasControls(bytes: Uint8Array): boolean {
  const head = bytes.subarray(0, HEAD_BYTES);
  const controls = head.reduce((sum, byte) => sum + (byte < 0x20 && !TEXT_CONTROLS.has(byte) ? 1 : 0), 0);
  return controls > 0 && !isFew(controls, head.length);
}

/** Backspace, tab, ends of lines and pages, and the escape of terminals and ISO-2022. */
const TEXT_CONTROLS: ReadonlySet<number> = new Set([0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x1b]);

/** At most 1 in 100, or up to 3 that are at most 1 in 10. */
export function isFew(count: number, bytes: number): boolean {
  return count <= Math.max(bytes / 100, Math.min(3, bytes / 10));
}

const SLICE_BYTES = 2 ** 20;

/** The bytes as UTF-8, with U+FFFD for those that are not of the encoding. */
function* decodedSlices(slices: Iterable<Uint8Array>, label: string): Generator<Buffer> {
  const decoder = new TextDecoder(label, { ignoreBOM: true });
  for (const slice of slices) yield Buffer.from(decoder.decode(slice, { stream: true }));
  yield Buffer.from(decoder.decode());
}

const decoded = (bytes: Uint8Array, label: string) =>
  Buffer.concat([...decodedSlices(slicesOf(bytes).slices(), label)]);

/** The bytes of a text that are not of its encoding, and what else is known when all were read. */
interface ReadInvalid extends Invalid {
  /** The text's bytes as UTF-8. */
  readonly size: number;
  /** SHA-256 of all bytes, hex. */
  readonly sha256: string;
}

/**
 * The bytes that are not of the encoding, with their first lines. A text may have U+FFFD of its
 * own: then no lines are known.
 *
 * @param mark bytes of a byte order mark, which is no part of the text
 */
function* readInvalid(bytes: TextBytes, mark: number, label: string): Generator<number, ReadInvalid> {
  const digest = createHash("sha256");
  const replaced = openReplaced();
  let size = 0;
  let own = 0;
  let tail = Buffer.alloc(0);
  const read = function* () {
    for (const slice of bytes.slices()) {
      digest.update(slice);
      own += countOf(Buffer.concat([tail, slice.subarray(0, 2)]), REPLACEMENT) + countOf(slice, REPLACEMENT);
      tail = Buffer.concat([tail, slice.subarray(-2)]).subarray(-2);
      yield slice;
    }
  };
  for (const text of decodedSlices(withoutStart({ slices: read }, mark), label)) {
    replaced.add(text);
    size += text.length;
    yield text.length;
  }
  const { count: all, where } = replaced.told();
  const sha256 = digest.digest("hex");
  if (all === 0) return { size, sha256, count: 0, where: [] };
  if (label !== "utf-8") {
    const isWhole = yield* isValid(withoutStart(bytes, mark), label);
    return isWhole ? { size, sha256, count: 0, where: [] } : { size, sha256, count: all, where };
  }
  // One U+FFFD may stand for several bytes of a character that is cut off.
  const count = bytes.length - mark - (size - REPLACEMENT.length * (all - own));
  return { size, sha256, count, where: own === 0 ? where : [] };
}

function* isValid(slices: Iterable<Uint8Array>, label: string): Generator<number, boolean> {
  const decoder = new TextDecoder(label, { fatal: true });
  try {
    for (const slice of slices) {
      decoder.decode(slice, { stream: true });
      yield slice.length;
    }
    decoder.decode();
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

function toldInvalid({ count, where: [first] }: Invalid, bytes: number): string {
  const of = `${count.toLocaleString("en-US")} of ${bytes.toLocaleString("en-US")} bytes`;
  return first === undefined ? of : `${of}, first on ${first}`;
}

/** `UTF-8`, `UTF-16LE`, `gbk`. */
export const shownEncoding = (label: string) => (label.startsWith("utf-") ? label.toUpperCase() : label);

/** The loss of bytes that became U+FFFD. */
export const invalidBytes = (label: string) => `byte that is not ${shownEncoding(label)}`;
