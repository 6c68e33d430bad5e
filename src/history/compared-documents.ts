import { type Context, type Document, hashOf, openLookup, pauses } from "../context/index.ts";
import { binarySearch } from "../platform/binary-search.ts";
import { nullIf } from "../platform/errors.ts";
import { amount, thousands } from "../platform/figures.ts";
import { openPassages, PLACE_UNITS, type Range, storedContext } from "../session/index.ts";
import { coveredContext } from "../session/journal/coverage-sums.ts";
import type { Store } from "../store/index.ts";

export interface Comparing {
  /** Calls and documents of each kind that are listed at most. */
  readonly listed: number;
  /** Texts pass through it before they are told, and ends before they are compared. */
  readonly clean?: (text: string) => string;
}

/**
 * The documents of a context against those of another one. One that has another
 * name and the same text is equal.
 */
export interface ComparedDocuments {
  readonly total: number;
  readonly equal: number;
  readonly changed: number;
  readonly new: number;
  readonly gone: number;
  /** Ids of the first of them. */
  readonly listed: Readonly<Record<"changed" | "new" | "gone", readonly string[]>>;
}

/** Ids of changed and new documents whose text a prompt holds. */
type Named = (prompt: string) => readonly string[];

/** Documents that were compared. */
export interface DocumentsFound {
  /** null: there are too many, and `why` says so. */
  readonly told: ComparedDocuments | null;
  readonly why: string | null;
  /**
   * `proof`: what changed in the document is in the prompt. `likely`: some of its text is,
   * which may stand elsewhere too.
   */
  readonly proof: Named;
  readonly likely: Named;
}

const UNNAMED: DocumentsFound = { told: null, why: null, proof: () => [], likely: () => [] };

/** Changed and new documents that are held, so that their texts can be looked for in prompts. */
const MOST_DOCUMENTS = 100_000;
const tooMany = (count: number) => `${amount(count, "changed or new document")} (limit ${thousands(MOST_DOCUMENTS)})`;

/**
 * Compares the contexts with these keys. null if one of them is missing or lost.
 * @param how `listed` ids of each kind at most, each `clean`
 */
export async function compareDocuments(
  store: Pick<Store, "context" | "contextIndex" | "texts">,
  newer: string | null,
  older: string | null,
  { listed, clean }: Required<Comparing>,
): Promise<DocumentsFound | null> {
  if (newer === null || older === null) return null;
  if (newer === older) {
    const total = (await coveredContext(store, newer))?.documents.length;
    const none = { changed: 0, new: 0, gone: 0, listed: { changed: [], new: [], gone: [] } };
    return total === undefined ? null : { ...UNNAMED, told: { total, equal: total, ...none } };
  }
  const now = await opened(store, newer);
  const before = await opened(store, older);
  using _now = now?.text;
  using _before = before?.text;
  if (!now || !before) return null;
  const added = await openHashes(now);
  const left = await openHashes(before);
  if (!added || !left) return null;
  const { changed, fresh, gone } = differing(added, left);
  const count = changed.length + fresh.length;
  if (count > MOST_DOCUMENTS) return { ...UNNAMED, why: tooMany(count) };
  const ids = (of: Context, numbers: readonly number[]) =>
    documentsAt(of, numbers.slice(0, listed)).map(({ id }) => clean(id));
  const total = now.documents.length;
  const counts = {
    total,
    equal: total - count,
    changed: changed.length,
    new: fresh.length,
    gone: gone.length,
    listed: { changed: ids(now, changed), new: ids(now, fresh), gone: ids(before, gone) },
  };
  const wholes = documentsAt(now, [...changed, ...fresh]).map(
    (document): Part => ({ document, range: [document.start, document.end] }),
  );
  const parts = wholes.map((whole): Part => {
    const n = left.numberOf(whole.document.id);
    const was = n === undefined ? undefined : before.documents.at(n);
    return was ? { ...whole, range: changedIn(now, whole.document, before, was) } : whole;
  });
  return { told: counts, why: null, proof: openNamed(now, parts), likely: openNamed(now, wholes) };
}

/** A document that changed or is new, and the range of P that it is looked for by. */
interface Part {
  readonly document: Document;
  readonly range: Range;
}

const opened = (store: Pick<Store, "context">, key: string) => nullIf("context_lost", storedContext(store, key));

/** Hashes of the texts of a context's documents, which take some 60 bytes each. */
interface TextHashes {
  readonly context: Context;
  /** The hash of a document, by its number. */
  hashAt(n: number): string;
  /** The number of the document with this id. */
  numberOf(id: string): number | undefined;
  /** True if a document has the text with this hash. */
  hasText(hash: string): boolean;
}

const HASH_BYTES = 32;

/** Reads all documents. null if they overlap, which only another user's store can say. */
async function openHashes(context: Context): Promise<TextHashes | null> {
  const { documents } = context;
  const pause = pauses();
  const hashes = Buffer.alloc(documents.length * HASH_BYTES);
  const hashAt = (n: number) => hashes.toString("latin1", n * HASH_BYTES, (n + 1) * HASH_BYTES);
  const byId = openLookup((n) => documents.at(n)?.id ?? "");
  const byText = openLookup(hashAt);
  let n = 0;
  let end = 0;
  for (const document of documents) {
    if (document.start < end) return null;
    end = document.end;
    hashes.write(await hashOf({ of: "P", context, document }, pause), n * HASH_BYTES, "hex");
    byId.put(document.id, n);
    byText.put(hashAt(n), n);
    n += 1;
  }
  return { context, hashAt, numberOf: byId.find, hasText: (hash) => byText.find(hash) !== undefined };
}

/** The numbers of documents that differ, by what is different. */
type Differing = Readonly<Record<"changed" | "fresh" | "gone", readonly number[]>>;

function differing(added: TextHashes, left: TextHashes): Differing {
  const changed: number[] = [];
  const fresh: number[] = [];
  const gone: number[] = [];
  const moved = openLookup(added.hashAt);
  let n = 0;
  for (const { id } of added.context.documents) {
    const hash = added.hashAt(n);
    const was = left.numberOf(id);
    if (was === undefined) {
      moved.put(hash, n);
      if (!left.hasText(hash)) fresh.push(n);
    } else if (left.hashAt(was) !== hash) changed.push(n);
    n += 1;
  }
  n = 0;
  for (const { id } of left.context.documents) {
    if (added.numberOf(id) === undefined && moved.find(left.hashAt(n)) === undefined) gone.push(n);
    n += 1;
  }
  return { changed, fresh, gone };
}

const documentsAt = ({ documents }: Context, numbers: readonly number[]): readonly Document[] =>
  numbers.map((n) => documents.at(n)).filter((document) => document !== undefined);

/** The bytes of a document in the text of its context. */
interface Bytes {
  readonly text: Context["text"];
  readonly from: number;
  readonly to: number;
}

function bytesOf({ text }: Context, { start, end }: Document): Bytes {
  return { text, from: text.byteAt(start), to: text.byteAt(end) };
}

/** Bytes that are compared at once. */
const STEP = 1024 * 1024;

/** The number of bytes that both begin with, at most so many. */
function sameBeginning(one: Bytes, other: Bytes, most: number): number {
  for (let same = 0; same < most; same += STEP) {
    const size = Math.min(STEP, most - same);
    const some = one.text.read(one.from + same, one.from + same + size);
    const others = other.text.read(other.from + same, other.from + same + size);
    if (some.equals(others)) continue;
    return same + some.findIndex((byte, at) => byte !== others[at]);
  }
  return most;
}

/** The number of bytes that both end with, at most so many. */
function sameEnd(one: Bytes, other: Bytes, most: number): number {
  for (let same = 0; same < most; same += STEP) {
    const size = Math.min(STEP, most - same);
    const some = one.text.read(one.to - same - size, one.to - same);
    const others = other.text.read(other.to - same - size, other.to - same);
    if (some.equals(others)) continue;
    return same + size - 1 - some.findLastIndex((byte, at) => byte !== others[at]);
  }
  return most;
}

/** The part of P between what both versions of a document begin with and what both end with. */
function changedIn(now: Context, document: Document, before: Context, was: Document): Range {
  const one = bytesOf(now, document);
  const other = bytesOf(before, was);
  const size = one.to - one.from;
  const most = Math.min(size, other.to - other.from);
  let first = sameBeginning(one, other, most);
  let last = sameEnd(one, other, most - first);
  const byteAt = (at: number) => now.text.read(one.from + at, one.from + at + 1)[0];
  // A character may have begun before.
  while (first > 0 && first < size && isInside(byteAt(first))) first--;
  while (last > 0 && isInside(byteAt(size - last))) last--;
  return [now.text.unitAt(one.from + first), now.text.unitAt(one.to - last)];
}

const isInside = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/**
 * A passage of this length lies in a prompt wherever it was cut. A shorter
 * text is looked for as a whole.
 */
const SURE = 2 * PLACE_UNITS - 1;
const SHORTEST = 8;
/** Comparisons of a short text with a prompt. */
const MOST_COMPARED = 1_000_000;
const NAMED = 3;

function openNamed({ text }: Context, parts: readonly Part[]): Named {
  const sorted = parts.toSorted((one, other) => one.range[0] - other.range[0]);
  const passages = openPassages(text);
  for (const { document, range } of sorted) {
    passages.note(Math.max(document.start, range[0] - SURE), Math.min(document.end, range[1] + SURE));
  }
  const short = parts.flatMap(({ document: { id, size, start, end } }) => {
    const words = size > SURE ? "" : text.slice(start, end).trim();
    return words.length < SHORTEST ? [] : [{ id, words }];
  });
  let left = MOST_COMPARED;
  return (prompt) => {
    const ids = new Set<string>();
    for (const [start, end] of passages.in(prompt)) {
      // A part may be empty: something was taken out there.
      const first = binarySearch(sorted.length, (at) => (sorted[at]?.range[1] ?? 0) > start);
      for (let at = first; (sorted[at]?.range[0] ?? end) < end; at++) {
        ids.add(sorted[at]?.document.id ?? "");
        if (ids.size >= NAMED) return [...ids];
      }
    }
    for (const { id, words } of left > 0 ? short : []) {
      left--;
      if (ids.size < NAMED && prompt.includes(words)) ids.add(id);
    }
    return [...ids];
  };
}
