import { binarySearch } from "../../platform/binary-search.ts";
import {
  type CheckedFile,
  lostContext,
  openChecked,
  type WrittenFile,
  writeChecked,
} from "../../platform/checked-file.ts";
import type { Document, Documents } from "../document.ts";
import { type DocumentRows, RECORD_NUMBERS } from "./document-rows.ts";
import { PAGE_NUMBERS, type Tallied } from "./tally.ts";

// The table of a large context, a checked file. Numbers are doubles, but those of the order have 32
// bits. In this order:
// - the number of this form;
// - bytes, units and newlines of P, the number of its pages, and the number of its documents;
// - of each page the units and newlines before it, and 1 if it is ASCII;
// - of each document where it begins and ends in P, where its names begin among the names, and the
//   bytes of its id, of its path, and of the JSON of all else that is known of it;
// - the numbers of the documents in the order of their ids;
// - the names.

const NUMBER_BYTES = 8;
const HEAD_NUMBERS = 6;
/** Number of the form. Sessions name tables, so that later builds must read earlier forms. */
const FORM = 1;
const RECORD_BYTES = RECORD_NUMBERS * NUMBER_BYTES;
const ORDER_BYTES = 4;

/** Writes the table of documents that were gathered. */
export function writeRows(folder: string, tallied: Tallied, rows: DocumentRows): WrittenFile {
  const { bytes, units, newlines, before } = tallied;
  const file = writeChecked(folder);
  try {
    const head = [FORM, bytes, units, newlines, before.length / PAGE_NUMBERS, rows.count()];
    file.put(new Uint8Array(Float64Array.from(head).buffer));
    file.put(new Uint8Array(before.buffer, before.byteOffset, before.byteLength));
    for (const records of rows.records()) file.put(records);
    file.put(new Uint8Array(rows.order().buffer));
    for (const names of rows.names()) file.put(names);
    return file.end();
  } finally {
    file.drop();
  }
}

/** The beginnings of the parts of a table, in bytes. */
interface TablePlaces {
  readonly pages: number;
  readonly records: number;
  readonly order: number;
  readonly names: number;
}

function placesOf(pages: number, documents: number): TablePlaces {
  const pagesAt = HEAD_NUMBERS * NUMBER_BYTES;
  const records = pagesAt + pages * PAGE_NUMBERS * NUMBER_BYTES;
  const order = records + documents * RECORD_BYTES;
  return { pages: pagesAt, records, order, names: order + documents * ORDER_BYTES };
}

/** The place of a document in P, UTF-16 units. */
export interface DocumentSpan {
  readonly start: number;
  readonly end: number;
}

/** Documents that are read from the table when they are asked for. */
export interface TableDocuments extends Documents {
  /** The places of all documents, in their order. Nothing else of them is read. */
  spans(): Iterable<DocumentSpan>;
  /** The document with this id. */
  named(id: string): Document | undefined;
  /** The documents whose ids begin so, in their order in P. */
  begunWith(prefix: string): DocumentSlice;
}

/** Some documents of a context, in their order. */
interface DocumentSlice {
  readonly length: number;
  slice(from: number, to: number): readonly Document[];
}

/** The table of a large context, open for reading. */
export interface Table extends Disposable {
  readonly tallied: Tallied;
  readonly documents: TableDocuments;
}

/** The places of documents, which a large context has in its table. */
export function spansOf(documents: Documents | TableDocuments): Iterable<DocumentSpan> {
  return "spans" in documents ? documents.spans() : documents;
}

/** Records of documents that are read at once. */
const SPANS_AT_ONCE = 8192;

/** Opens a table. @param context for people, the context that has it. @throws RlmError `context_lost` */
export function openTable(path: string, context?: string): Table {
  const file = openChecked(path, context);
  if (file.length < HEAD_NUMBERS * NUMBER_BYTES) throw noTable(file, path);
  const [form, bytes = 0, units = 0, newlines = 0, pages = 0, length = 0] = numbersIn(file, 0, HEAD_NUMBERS);
  const places = placesOf(pages, length);
  // A store may come from another user.
  if (!(form === FORM && isCount(pages) && isCount(length) && places.names <= file.length)) throw noTable(file, path);
  const before = new Float64Array(Uint8Array.from(file.read(places.pages, places.records)).buffer);
  return {
    tallied: { bytes, units, newlines, before },
    documents: documentsIn(file, places, length),
    [Symbol.dispose]: () => file[Symbol.dispose](),
  };
}

const isCount = (number: number) => Number.isSafeInteger(number) && number >= 0;

function noTable(file: CheckedFile, path: string): Error {
  file[Symbol.dispose]();
  return lostContext(`${path} is no table of a text`);
}

function numbersIn(file: CheckedFile, at: number, count: number): readonly number[] {
  const bytes = file.read(at, at + count * NUMBER_BYTES);
  return Array.from({ length: count }, (_, n) => bytes.readDoubleLE(n * NUMBER_BYTES));
}

function documentsIn(file: CheckedFile, places: TablePlaces, length: number): TableDocuments {
  const textAt = (at: number, bytes: number) => file.read(places.names + at, places.names + at + bytes).toString();
  const recordOf = (n: number) => numbersIn(file, places.records + n * RECORD_BYTES, RECORD_NUMBERS);

  function idOf(n: number): string {
    const [, , at = 0, idBytes = 0] = recordOf(n);
    return textAt(at, idBytes);
  }

  function at(n: number): Document | undefined {
    if (!(n >= 0 && n < length)) return undefined;
    const [start = 0, end = 0, names = 0, idBytes = 0, pathBytes = 0, restBytes = 0] = recordOf(n);
    const id = textAt(names, idBytes);
    const path = textAt(names + idBytes, pathBytes);
    const rest = restBytes === 0 ? {} : JSON.parse(textAt(names + idBytes + pathBytes, restBytes));
    return { id, path, start, end, size: end - start, ...rest };
  }

  /** The number of the document at a place of the order of ids. */
  const inOrder = (place: number) =>
    file.read(places.order + place * ORDER_BYTES, places.order + (place + 1) * ORDER_BYTES).readUInt32LE(0);
  /** The first place of the order from which on a condition holds for ids. */
  const firstWhere = (holds: (id: string) => boolean) => binarySearch(length, (place) => holds(idOf(inOrder(place))));

  function sliceOf(numbers: Uint32Array | null): DocumentSlice {
    const count = numbers?.length ?? length;
    return {
      length: count,
      slice: (from, to) =>
        Array.from({ length: Math.max(0, Math.min(to, count) - from) }, (_, n) =>
          at(numbers?.[from + n] ?? from + n),
        ).filter((document) => document !== undefined),
    };
  }

  return {
    length,
    at,
    *spans() {
      for (let n = 0; n < length; n += SPANS_AT_ONCE) {
        const from = places.records + n * RECORD_BYTES;
        const records = file.read(from, from + Math.min(SPANS_AT_ONCE, length - n) * RECORD_BYTES);
        for (let at = 0; at < records.length; at += RECORD_BYTES) {
          yield { start: records.readDoubleLE(at), end: records.readDoubleLE(at + NUMBER_BYTES) };
        }
      }
    },
    *[Symbol.iterator]() {
      for (let n = 0; n < length; n++) {
        const document = at(n);
        if (document) yield document;
      }
    },
    named(id) {
      const place = firstWhere((other) => other >= id);
      if (place === length) return undefined;
      const document = at(inOrder(place));
      return document?.id === id ? document : undefined;
    },
    begunWith(prefix) {
      if (prefix === "") return sliceOf(null);
      const first = firstWhere((id) => id >= prefix);
      const end = firstWhere((id) => id >= prefix && !id.startsWith(prefix));
      const order = file.read(places.order + first * ORDER_BYTES, places.order + end * ORDER_BYTES);
      return sliceOf(new Uint32Array(Uint8Array.from(order).buffer).sort());
    },
  };
}
