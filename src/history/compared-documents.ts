import { hash } from "node:crypto";
import { type Context, type Document, pauses } from "../context/index.ts";
import { binarySearch } from "../platform/binary-search.ts";
import { nullIf } from "../platform/errors.ts";
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
  readonly told: ComparedDocuments;
  /**
   * `proof`: what changed in the document is in the prompt. `likely`: some of its text is,
   * which may stand elsewhere too.
   */
  readonly proof: Named;
  readonly likely: Named;
}

const NOTHING = () => [];

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
    return total === undefined ? null : { told: { total, equal: total, ...none }, proof: NOTHING, likely: NOTHING };
  }
  const now = await opened(store, newer);
  const before = await opened(store, older);
  if (!now || !before) return null;
  const added = await hashesOf(now);
  const left = await hashesOf(before);
  if (!added || !left) return null;
  const texts = new Set(left.values());
  const all = [...now.documents];
  const apart = all.filter(({ id }) => !left.has(id));
  const changed = all.filter(({ id }) => left.has(id) && left.get(id) !== added.get(id));
  const fresh = apart.filter(({ id }) => !texts.has(added.get(id) ?? ""));
  const moved = new Set(apart.map(({ id }) => added.get(id)));
  const gone = [...before.documents].filter(({ id }) => !added.has(id) && !moved.has(left.get(id)));
  const ids = (of: readonly Document[]) => of.slice(0, listed).map(({ id }) => clean(id));
  const total = now.documents.length;
  const told = {
    total,
    equal: total - changed.length - fresh.length,
    changed: changed.length,
    new: fresh.length,
    gone: gone.length,
    listed: { changed: ids(changed), new: ids(fresh), gone: ids(gone) },
  };
  const old = new Map([...before.documents].map((document) => [document.id, document]));
  const wholes = [...changed, ...fresh].map((document): Part => ({ document, range: [document.start, document.end] }));
  const parts = wholes.map((whole): Part => {
    const was = old.get(whole.document.id);
    return was ? { ...whole, range: changedIn(now, whole.document, before, was) } : whole;
  });
  return { told, proof: openNamed(now, parts), likely: openNamed(now, wholes) };
}

/** A document that changed or is new, and the range of P that it is looked for by. */
interface Part {
  readonly document: Document;
  readonly range: Range;
}

const opened = (store: Pick<Store, "context">, key: string) => nullIf("context_lost", storedContext(store, key));

/**
 * Hashes of the documents' texts, by their ids. null if they overlap, which only another user's
 * store can say.
 */
async function hashesOf(context: Context): Promise<ReadonlyMap<string, string> | null> {
  const pause = pauses();
  const hashes = new Map<string, string>();
  let end = 0;
  for (const document of context.documents) {
    if (document.start < end) return null;
    end = document.end;
    const bytes = bytesOf(context, document);
    hashes.set(document.id, hash("sha256", bytes));
    await pause(bytes.length);
  }
  return hashes;
}

function bytesOf({ text }: Context, { start, end }: Document): Uint8Array {
  return text.read(text.byteAt(start), text.byteAt(end));
}

/** The part of P between what both versions of a document begin with and what both end with. */
function changedIn(now: Context, document: Document, before: Context, was: Document): Range {
  const one = bytesOf(now, document);
  const other = bytesOf(before, was);
  const most = Math.min(one.length, other.length);
  let first = 0;
  while (first < most && one[first] === other[first]) first++;
  let last = 0;
  while (last < most - first && one[one.length - 1 - last] === other[other.length - 1 - last]) last++;
  // A character may have begun before.
  while (first > 0 && isInside(one[first])) first--;
  while (last > 0 && isInside(one[one.length - last])) last--;
  const from = now.text.byteAt(document.start);
  return [now.text.unitAt(from + first), now.text.unitAt(from + one.length - last)];
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
