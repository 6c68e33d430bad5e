import { binarySearch } from "../../platform/binary-search.ts";
import { type CheckedFile, lostContext, openChecked, PAGE_BYTES } from "../../platform/checked-file.ts";
import { openPageRoom } from "../../platform/page-sums.ts";
import type { LineStart } from "./lines.ts";
import type { FileText, Text, TextFile } from "./port.ts";
import { openTable, type Table } from "./table.ts";
import { countIn, PAGE_NUMBERS, type Tallied, unitsOf } from "./tally.ts";

export type { FileText } from "./port.ts";

/** Bytes that are looked through at once. */
const STEP = 4 * 1024 * 1024;
/** Files of one text that are open at once. An append adds a file. */
const MOST_OPEN = 64;
/** Bytes that are counted at once on the way to a unit. */
const BLOCK = 512;
/** A character of two UTF-16 units always has four bytes. */
const MOST_CHARACTER_BYTES = 4;
const NEWLINE = 0x0a;

/** Opens a text that lies in files. Nothing is read before it is asked for. */
export function openFileText(data: FileText): Text<FileText> {
  const { length } = data;
  const files = openFiles(data);
  const table = whenNeeded(() => tableOf(data, files.bytes));
  const pages = pagesOf(length, files, () => table.get().tallied);
  const units = openUnits(pages, data.table);
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

function tableOf({ table: path, length, context }: FileText, size: number): Table {
  const table = openTable(path, context);
  const { bytes, units, before } = table.tallied;
  const isOfText = bytes === size && units === length && before.length === PAGE_NUMBERS * Math.ceil(size / PAGE_BYTES);
  if (isOfText) return table;
  table[Symbol.dispose]();
  throw otherText(path, context);
}

/** The failure of a table that is whole, and has other figures than the text. */
const otherText = (table: string, context?: string) => lostContext(`${table} is the table of another text`, context);

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

/** A file of a text, with the bytes of P that it has. */
interface JoinedFile {
  readonly from: number;
  readonly to: number;
  readonly file: WhenNeeded<CheckedFile>;
}

function openFiles({ files: listed, context }: FileText): JoinedFiles {
  let size = 0;
  const files = listed.map(({ path, bytes }): JoinedFile => {
    const from = size;
    size += bytes;
    return { from, to: size, file: whenNeeded(() => openPart({ path, bytes }, context)) };
  });
  /** Files that are open, the one that was read last at the end. */
  const open = new Set<JoinedFile>();

  function opened(one: JoinedFile): CheckedFile {
    open.delete(one);
    const [oldest] = open;
    if (open.size === MOST_OPEN && oldest) {
      open.delete(oldest);
      oldest.file[Symbol.dispose]();
    }
    open.add(one);
    return one.file.get();
  }

  return {
    bytes: size,
    read(from, to, room) {
      const start = Math.max(from, 0);
      const end = Math.min(to, size);
      if (end <= start) return Buffer.alloc(0);
      const first = binarySearch(files.length, (at) => (files[at]?.to ?? size) > start);
      const past = binarySearch(files.length, (at) => (files[at]?.from ?? size) >= end);
      // Two parts cannot lie in the same room.
      const into = past - first === 1 ? room : undefined;
      const parts = files
        .slice(first, past)
        .filter((one) => one.to > one.from)
        .map((one) => opened(one).read(Math.max(start, one.from) - one.from, Math.min(end, one.to) - one.from, into));
      return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
    },
    [Symbol.dispose]() {
      for (const { file } of open) file[Symbol.dispose]();
      open.clear();
    },
  };
}

function openPart({ path, bytes }: TextFile, context?: string): CheckedFile {
  const file = openChecked(path, context);
  if (file.length === bytes) return file;
  file[Symbol.dispose]();
  throw lostContext(`${path} has ${file.length} bytes instead of ${bytes}`, context);
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

function openUnits(pages: Pages, table: string): Units {
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
      const bytes = pages.read(start, start + PAGE_BYTES);
      for (let at = 0; at < bytes.length; at += BLOCK) {
        const block = bytes.subarray(at, at + BLOCK);
        const { units } = countIn(block);
        if (seen + units > unit) return startIn(block, unit, { byte: start + at, unit: seen });
        seen += units;
      }
      throw otherText(table);
    },
  };
}

/** The character of a block of bytes that holds a unit. @param begin where the block begins */
function startIn(block: Uint8Array, unit: number, begin: CharacterStart): CharacterStart {
  let seen = begin.unit;
  let at = 0;
  while (seen + unitsOf(block[at] ?? 0) <= unit) seen += unitsOf(block[at++] ?? 0);
  return { byte: begin.byte + at, unit: seen };
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
  using room = openPageRoom(step + 2 * PAGE_BYTES + needle.length);
  const first = locate(from);
  // In the middle of a pair the next character is the first.
  const begin = first.unit < from ? first.byte + MOST_CHARACTER_BYTES : first.byte;
  for (let at = begin; at < size; at += step) {
    const found = read(at, at + step + needle.length - 1, room.bytes).indexOf(needle);
    if (found >= 0) return unitAt(at + found);
    between();
  }
  return -1;
}
