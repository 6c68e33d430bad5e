import { binarySearch } from "../../platform/binary-search.ts";
import { openChecked, PAGE_BYTES } from "../../platform/checked-file.ts";
import type { LineStart } from "./lines.ts";
import { openTable } from "./table.ts";
import { countIn, PAGE_NUMBERS, type Tallied, unitsOf } from "./tally.ts";
import type { Text } from "./text.ts";

/**
 * The form in which a large P crosses threads. Each thread opens the files for itself, and shares
 * what the system holds of them in memory.
 */
export interface FileText {
  /** Checked files, in their order: P is their concatenation. */
  readonly files: readonly TextFile[];
  /** Absolute path of the table. */
  readonly table: string;
  /** UTF-16 units. */
  readonly length: number;
}

/** A checked file with a part of P. */
export interface TextFile {
  /** Absolute path. */
  readonly path: string;
  readonly bytes: number;
}

/** Bytes that are looked through at once. */
const STEP = 4 * 1024 * 1024;
/** A character of two UTF-16 units always has four bytes. */
const MOST_CHARACTER_BYTES = 4;
const NEWLINE = 0x0a;

/** Opens a text that lies in files. Nothing is read before it is asked for. */
export function openFileText(data: FileText): Text<FileText> {
  const { length } = data;
  const files = openFiles(data.files);
  const table = whenNeeded(() => openTable(data.table));
  const pages = pagesOf(length, files, () => table.get().tallied);
  const units = openUnits(pages);
  return {
    data,
    length,
    bytes: files.bytes,
    read: files.read,
    unitAt: units.unitAt,
    byteAt: (unit) => units.locate(Math.max(unit, 0)).byte,
    slice: (start, end) => sliceUnits(pages, units, Math.max(start, 0), Math.min(end, length)),
    lines: { prepare() {}, at: (byte) => lineAt(pages, byte) },
    large: {
      documents: () => table.get().documents,
      tallied: () => table.get().tallied,
      indexOf: (part, from, between = () => {}) =>
        indexOf(pages, units, Buffer.from(part), Math.min(Math.max(from, 0), length), between),
    },
    [Symbol.dispose]() {
      files[Symbol.dispose]();
      table[Symbol.dispose]();
    },
  };
}

/** Something that is opened when it is first asked for. */
interface WhenNeeded<T> extends Disposable {
  get(): T;
}

function whenNeeded<T extends Disposable>(open: () => T): WhenNeeded<T> {
  let opened: T | undefined;
  return {
    get() {
      opened ??= open();
      return opened;
    },
    [Symbol.dispose]() {
      opened?.[Symbol.dispose]();
      opened = undefined;
    },
  };
}

/** The files of a text, read as if they were one. */
interface JoinedFiles extends Disposable {
  readonly bytes: number;
  /** The bytes `from..to` (clamped), for which `room` may be used. */
  read(from: number, to: number, room?: Buffer): Buffer;
}

function openFiles(listed: readonly TextFile[]): JoinedFiles {
  let size = 0;
  const files = listed.map(({ path, bytes }) => {
    const from = size;
    size += bytes;
    return { from, to: size, file: whenNeeded(() => openChecked(path)) };
  });
  return {
    bytes: size,
    read(from, to, room) {
      const start = Math.max(from, 0);
      const end = Math.min(to, size);
      if (end <= start) return Buffer.alloc(0);
      const touched = files.filter((file) => file.to > start && file.from < end);
      const parts = touched.map((part) =>
        // Two parts cannot lie in the same room.
        part.file
          .get()
          .read(
            Math.max(start, part.from) - part.from,
            Math.min(end, part.to) - part.from,
            touched.length === 1 ? room : undefined,
          ),
      );
      return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
    },
    [Symbol.dispose]() {
      for (const { file } of files) file[Symbol.dispose]();
    },
  };
}

/** The text by its pages of 64 KB, and what the table has of each. */
interface Pages extends Pick<JoinedFiles, "bytes" | "read"> {
  /** UTF-16 units of the text. */
  readonly length: number;
  readonly count: number;
  unitsBefore(page: number): number;
  newlinesBefore(page: number): number;
  isAscii(page: number): boolean;
}

function pagesOf(length: number, { bytes, read }: JoinedFiles, tallied: () => Tallied): Pages {
  const numberOf = (page: number, which: number) => tallied().before[PAGE_NUMBERS * page + which];
  return {
    bytes,
    read,
    length,
    count: Math.ceil(bytes / PAGE_BYTES),
    unitsBefore: (page) => numberOf(page, 0) ?? length,
    newlinesBefore: (page) => numberOf(page, 1) ?? tallied().newlines,
    isAscii: (page) => numberOf(page, 2) === 1,
  };
}

const pageOf = (byte: number) => Math.floor(byte / PAGE_BYTES);

/** The character that holds a unit: its first byte and its first unit. */
interface CharacterStart {
  readonly byte: number;
  readonly unit: number;
}

/** Bytes as UTF-16 units, and back. */
interface Units {
  /** The unit of a byte at which a character begins (clamped). */
  unitAt(byte: number): number;
  /** Past the end: the end. */
  locate(unit: number): CharacterStart;
}

function openUnits(pages: Pages): Units {
  // Ascending places are counted from the last one, while they lie in the same page.
  let last = { page: -1, byte: 0, unit: 0 };
  return {
    unitAt(byte) {
      if (byte >= pages.bytes) return pages.length;
      const at = Math.max(byte, 0);
      const page = pageOf(at);
      if (page !== last.page || at < last.byte) last = { page, byte: page * PAGE_BYTES, unit: pages.unitsBefore(page) };
      const more = pages.isAscii(page) ? at - last.byte : countIn(pages.read(last.byte, at)).units;
      last = { page, byte: at, unit: last.unit + more };
      return last.unit;
    },
    locate(unit) {
      if (unit >= pages.length) return { byte: pages.bytes, unit: pages.length };
      const page = Math.max(0, binarySearch(pages.count, (at) => pages.unitsBefore(at) > unit) - 1);
      const start = page * PAGE_BYTES;
      let seen = pages.unitsBefore(page);
      if (pages.isAscii(page)) return { byte: start + unit - seen, unit };
      const bytes = pages.read(start, start + PAGE_BYTES + MOST_CHARACTER_BYTES);
      for (let at = 0; ; at++) {
        const units = unitsOf(bytes[at] ?? 0);
        if (units > 0 && seen + units > unit) return { byte: start + at, unit: seen };
        seen += units;
      }
    },
  };
}

function sliceUnits({ read }: Pages, { locate }: Units, from: number, to: number): string {
  if (to <= from) return "";
  const first = locate(from);
  const last = locate(to);
  // An end inside a surrogate pair: the four bytes of the character are decoded, and the second
  // unit is cut off.
  const decoded = read(first.byte, last.unit < to ? last.byte + MOST_CHARACTER_BYTES : last.byte).toString();
  return first.unit === from && last.unit === to ? decoded : decoded.slice(from - first.unit, to - first.unit);
}

function lineAt({ bytes: size, read, newlinesBefore }: Pages, byte: number): LineStart {
  const at = Math.min(Math.max(byte, 0), size);
  const page = pageOf(at);
  const bytes = read(page * PAGE_BYTES, at);
  const newlines = newlinesBefore(page) + countIn(bytes).newlines;
  const within = bytes.lastIndexOf(NEWLINE);
  if (within >= 0) return { newlines, start: page * PAGE_BYTES + within + 1 };
  if (newlines === 0) return { newlines, start: 0 };
  // The newest page before this one that has a newline.
  const start = PAGE_BYTES * binarySearch(page, (other) => newlinesBefore(other + 1) >= newlines);
  return { newlines, start: start + read(start, start + PAGE_BYTES).lastIndexOf(NEWLINE) + 1 };
}

/** The first unit at or after `from` at which the bytes stand; -1: none. */
function indexOf(
  { bytes: size, read }: Pages,
  { locate, unitAt }: Units,
  needle: Buffer,
  from: number,
  between: () => void,
): number {
  if (needle.length === 0) return from;
  const step = Math.max(STEP, needle.length);
  const room = Buffer.allocUnsafeSlow(step + 2 * PAGE_BYTES + needle.length);
  const first = locate(from);
  // In the middle of a pair the next character is the first.
  const begin = first.unit < from ? first.byte + MOST_CHARACTER_BYTES : first.byte;
  for (let at = begin; at < size; at += step) {
    const found = read(at, at + step + needle.length - 1, room).indexOf(needle);
    if (found >= 0) return unitAt(at + found);
    between();
  }
  return -1;
}
