import { binarySearch } from "../../platform/binary-search.ts";
import type { Document } from "../document.ts";
import { type Lookup, openLookup } from "./lookup.ts";

/** Numbers of a document in a table: start, end, place of its names, and bytes of the three. */
export const RECORD_NUMBERS = 6;

/**
 * Documents of a large context in the form of its table, while they are gathered: each takes its
 * names and 48 bytes.
 */
export interface DocumentRows {
  count(): number;
  /** Adds a document behind the others. */
  add(document: Document): void;
  at(n: number): Document;
  /** True if a document has this id. */
  has(id: string): boolean;
  /** `RECORD_NUMBERS` doubles for each document. Places of names count from the first of them. */
  records(): Iterable<Uint8Array>;
  /** The numbers of the documents in the order of their ids. */
  order(): Uint32Array<ArrayBuffer>;
  /** The id of each document, its path, and the JSON of all else that is known of it. */
  names(): Iterable<Uint8Array>;
}

/** Documents whose numbers lie together. */
const RECORDS_AT_ONCE = 4096;

export function openDocumentRows(): DocumentRows {
  const records: Float64Array[] = [];
  const names = openNames();
  let count = 0;
  let last: string | null = null;
  // Most documents come in the order of their ids.
  let isSorted = true;
  let lookup: Lookup | undefined;

  /** One number of a document. */
  function numberOf(n: number, which: number): number {
    const at = (n % RECORDS_AT_ONCE) * RECORD_NUMBERS + which;
    return records[Math.floor(n / RECORDS_AT_ONCE)]?.[at] ?? 0;
  }

  const idOf = (n: number) => names.read(numberOf(n, 2), numberOf(n, 3)).toString();

  function lookupOfAll(): Lookup {
    const all = openLookup(idOf);
    for (let n = 0; n < count; n++) all.put(idOf(n), n);
    return all;
  }

  return {
    count: () => count,
    add({ id, path, start, end, size, ...rest }) {
      const at = names.length();
      const lengths = names.put([id, path, Object.keys(rest).length === 0 ? "" : JSON.stringify(rest)]);
      if (count % RECORDS_AT_ONCE === 0) records.push(new Float64Array(RECORDS_AT_ONCE * RECORD_NUMBERS));
      records.at(-1)?.set([start, end, at, ...lengths], (count % RECORDS_AT_ONCE) * RECORD_NUMBERS);
      isSorted &&= last === null || last < id;
      last = id;
      lookup?.put(id, count);
      count += 1;
    },
    at(n) {
      const start = numberOf(n, 0);
      const end = numberOf(n, 1);
      const path = numberOf(n, 2) + numberOf(n, 3);
      const rest = path + numberOf(n, 4);
      return {
        id: idOf(n),
        path: names.read(path, numberOf(n, 4)).toString(),
        start,
        end,
        size: end - start,
        ...(numberOf(n, 5) === 0 ? {} : JSON.parse(names.read(rest, numberOf(n, 5)).toString())),
      };
    },
    has(id) {
      if (isSorted && (last === null || last < id)) return false;
      lookup ??= lookupOfAll();
      return lookup.find(id) !== undefined;
    },
    *records() {
      for (const [n, some] of records.entries()) {
        const used = Math.min(RECORDS_AT_ONCE, count - n * RECORDS_AT_ONCE) * RECORD_NUMBERS;
        yield new Uint8Array(some.buffer, 0, used * Float64Array.BYTES_PER_ELEMENT);
      }
    },
    order() {
      const order = new Uint32Array(count);
      for (let n = 0; n < count; n++) order[n] = n;
      const bytesOf = (n: number) => names.read(numberOf(n, 2), numberOf(n, 3));
      return isSorted ? order : order.sort((one, other) => compareUtf8(bytesOf(one), bytesOf(other)));
    },
    names: names.parts,
  };
}

/** The order of two strings by UTF-16 code units, from their UTF-8. */
function compareUtf8(one: Uint8Array, other: Uint8Array): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const first = one[at] ?? 0;
    const second = other[at] ?? 0;
    if (first !== second) return unitOrder(first) - unitOrder(second);
  }
  return one.length - other.length;
}

/** Characters from U+E000 on have three bytes, and stand behind those of four: surrogates. */
const unitOrder = (byte: number) => (byte === 0xee || byte === 0xef ? byte + 0x10 : byte);

/** Texts behind each other, as UTF-8. */
interface Names {
  length(): number;
  /** Puts texts that are read together. Returns the bytes of each. */
  put(texts: readonly string[]): readonly number[];
  read(at: number, length: number): Buffer;
  parts(): Iterable<Uint8Array>;
}

const PART_BYTES = 256 * 1024;

/** A part of the names. */
interface NamesPart {
  /** Bytes before it. */
  readonly from: number;
  readonly bytes: Buffer;
  used: number;
}

function openNames(): Names {
  const parts: NamesPart[] = [];
  let length = 0;

  function partFor(bytes: number): NamesPart {
    const last = parts.at(-1);
    if (last && last.used + bytes <= last.bytes.length) return last;
    const part = { from: length, bytes: Buffer.allocUnsafeSlow(Math.max(PART_BYTES, bytes)), used: 0 };
    parts.push(part);
    return part;
  }

  return {
    length: () => length,
    put(texts) {
      const lengths = texts.map((text) => Buffer.byteLength(text));
      const sum = lengths.reduce((all, one) => all + one, 0);
      const part = partFor(sum);
      for (const text of texts) part.used += part.bytes.write(text, part.used);
      length += sum;
      return lengths;
    },
    read(at, bytes) {
      const part = parts[binarySearch(parts.length, (n) => (parts[n]?.from ?? 0) > at) - 1];
      const from = at - (part?.from ?? 0);
      return part?.bytes.subarray(from, from + bytes) ?? Buffer.alloc(0);
    },
    *parts() {
      for (const { bytes, used } of parts) yield bytes.subarray(0, used);
    },
  };
}
