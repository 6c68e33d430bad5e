import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import type { Converted, Loss } from "../../documents/growing.ts";

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
interface DecodedText extends Partial<Omit<Converted, "original">> {
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
export const TEXT_VERSION = 1;
/** Bytes of a file that decide its kind. */
export const HEAD_BYTES = 8 * 1024;

/** The text that the bytes are, or why they are none. */
export function decodeText(bytes: Uint8Array, { encoding, bad }: Decoding): DecodedText | { readonly reason: string } {
  const { label, length } = markOf(bytes) ?? { label: labelOf(encoding), length: 0 };
  const body = bytes.subarray(length);
  const isWide = label.startsWith("utf-16");
  const problem = isWide ? null : binaryBy(body);
  if (problem !== null) return { reason: problem };
  if (label === "utf-8" && isUtf8(body)) return { bytes: body };
  if (!isWide && hasControls(body)) return { reason: "binary (control characters in the first 8 KB)" };
  const text = decoded(body, label);
  if (isWide && binaryBy(text) !== null) return { reason: `binary (NUL in ${shownEncoding(label)})` };
  const invalid = invalidIn(body, text, label);
  const isTaken = bad === "all" || invalid.count === 0 || (bad === "few" && isFew(invalid.count, body.length));
  if (!isTaken) return { reason: `not ${shownEncoding(label)} in ${toldInvalid(invalid, body.length)}` };
  const lost = invalid.count === 0 ? [] : [{ kind: invalidBytes(label), ...invalid }];
  const original = { kind: "text", sha256: hash("sha256", bytes), bytes: bytes.length, encoding: label } as const;
  return { bytes: text, original, places: [], lost };
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
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (label !== "utf-8") return { bytes, invalid: countOf(buffer, REPLACEMENT) };
  if (isUtf8(bytes)) return { bytes, invalid: 0 };
  const text = decoded(bytes, label);
  return { bytes: text, invalid: invalidIn(bytes, text, label).count };
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
const labelOf = (name = "utf-8"): string => new TextDecoder(name).encoding;

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
  const label = wideWithoutMark(head);
  return label === null ? "binary (NUL in the first 8 KB)" : `${label} without a byte order mark`;
}

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
function isFew(count: number, bytes: number): boolean {
  return count <= Math.max(bytes / 100, Math.min(3, bytes / 10));
}

const SLICE_BYTES = 2 ** 20;

/** The bytes as UTF-8, with U+FFFD for those that are not of the encoding. */
function decoded(bytes: Uint8Array, label: string): Buffer {
  const decoder = new TextDecoder(label, { ignoreBOM: true });
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    pieces.push(Buffer.from(decoder.decode(bytes.subarray(at, at + SLICE_BYTES), { stream: true })));
  }
  pieces.push(Buffer.from(decoder.decode()));
  return Buffer.concat(pieces);
}

type Invalid = Pick<Loss, "count" | "where">;

const REPLACEMENT = Buffer.from("\ufffd");
const LISTED = 20;

/**
 * The bytes that are not of the encoding, with their first lines. A text may have U+FFFD of its
 * own: then no lines are known.
 */
function invalidIn(bytes: Uint8Array, text: Buffer, label: string): Invalid {
  const all = countOf(text, REPLACEMENT);
  if (all === 0) return { count: 0, where: [] };
  if (label !== "utf-8") return isValid(bytes, label) ? { count: 0, where: [] } : { count: all, where: linesIn(text) };
  const own = countOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), REPLACEMENT);
  // One U+FFFD may stand for several bytes of a character that is cut off.
  const count = bytes.length - (text.length - REPLACEMENT.length * (all - own));
  return { count, where: own === 0 ? linesIn(text) : [] };
}

function isValid(bytes: Uint8Array, label: string): boolean {
  try {
    new TextDecoder(label, { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function countOf(bytes: Buffer, part: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(part); at >= 0; at = bytes.indexOf(part, at + part.length)) count += 1;
  return count;
}

/** The first lines that have U+FFFD. */
function linesIn(text: Buffer): string[] {
  const lines: string[] = [];
  let line = 1;
  let from = 0;
  for (let at = text.indexOf(REPLACEMENT); at >= 0 && lines.length < LISTED; at = text.indexOf(REPLACEMENT, from)) {
    line += countOf(text.subarray(from, at), NEWLINE);
    lines.push(`line ${line}`);
    const end = text.indexOf(NEWLINE, at);
    if (end < 0) break;
    from = end;
  }
  return lines;
}

const NEWLINE = Buffer.from("\n");

function toldInvalid({ count, where: [first] }: Invalid, bytes: number): string {
  const of = `${count.toLocaleString("en-US")} of ${bytes.toLocaleString("en-US")} bytes`;
  return first === undefined ? of : `${of}, first on ${first}`;
}

/** `UTF-8`, `UTF-16LE`, `gbk`. */
export const shownEncoding = (label: string) => (label.startsWith("utf-") ? label.toUpperCase() : label);

/** The loss of bytes that became U+FFFD. */
export const invalidBytes = (label: string) => `byte that is not ${shownEncoding(label)}`;
