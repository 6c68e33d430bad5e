import { createHash } from "node:crypto";
import { freeBytes, type Json, LIMITS, pack } from "../../../runtime/index.ts";
import { contextLost, misuse } from "../failure.ts";
import type { PartInRows, ReadingContext, StoredContext } from "../port.ts";
import { CONTEXT_INDEX, jsonIn, LARGE_INDEX } from "../rows/forms.ts";
import { capped, PARTS_BYTES, USUAL_BOUNDS, unpack } from "../rows/pack.ts";
import { PLACES } from "../rows/pages.ts";
import { anyColumn, isSealed, numberColumn, type Row, seal, textColumn } from "../rows/row.ts";
import type { Dialect } from "./dialect.ts";
import { all, get, oneOf, type Plan, packed, pause, raw, run, spelled, sql } from "./sql.ts";
import { areTexts, filesOf, IS_LARGE, insertTexts, nameOfText } from "./texts.ts";

type Keeping = Pick<Dialect, "texts">;

/**
 * Keeps a context, and those of its parts that are missing. A context that is there already is put
 * again only after it was lost. Each of its parts is then read, and written again if it is damaged.
 */
export function* insertContext({ key, parts, index }: StoredContext, { texts }: Keeping): Plan<void> {
  const again = yield* hasContext(key);
  const files = parts.filter((part) => "file" in part);
  if (files.length > 0) yield* insertTexts(key, files, texts);
  for (const part of parts) {
    if ("file" in part) continue;
    if ((yield* hasPart(part.hash)) && !(again && (yield* readPart(part.hash)) === null)) continue;
    yield* deletePart(part.hash);
    yield* insertPart(part);
  }
  const list = JSON.stringify(parts.map((part) => ("file" in part ? nameOfText(part.hash) : part.hash)));
  const facts = JSON.stringify(index);
  yield* run(sql`INSERT INTO contexts (hash, parts, facts, sha256)
    VALUES (${key}, ${list}, ${packed(facts)}, ${seal([key, list, facts])})
    ON CONFLICT (hash) DO UPDATE SET parts = excluded.parts, facts = excluded.facts, sha256 = excluded.sha256`);
}

export function* hasContext(key: string): Plan<boolean> {
  return (yield* get(sql`SELECT hash FROM contexts WHERE hash = ${key}`)) !== undefined;
}

/** @throws RlmError `context_lost` */
export function* readContext(key: string, own: Keeping, how: ReadingContext = {}): Plan<StoredContext> {
  const head = yield* headOf(key);
  if (areTexts(head.parts)) return { key, parts: filesOf(key, head, own, how), index: head.index };
  if (yield* areTooLarge(head.parts)) throw contextLost(key, "its parts are larger than a context can be");
  const parts: PartInRows[] = [];
  for (const part of head.parts) {
    const bytes = yield* readPart(part);
    if (!bytes) throw contextLost(key, `its part ${part} is missing or damaged`);
    parts.push({ hash: part, bytes });
  }
  return { key, parts, index: head.index };
}

/**
 * True if parts would take more memory than a context may: a row can name one of them many times.
 */
export function* areTooLarge(parts: readonly string[]): Plan<boolean> {
  const rows = yield* all(sql`SELECT hash, bytes FROM parts WHERE hash ${oneOf(parts)}`);
  // A negative length takes nothing off the others.
  const sizes = new Map(rows.map((row) => [row.hash, Math.abs(numberColumn(row, "bytes"))]));
  return parts.reduce((sum, part) => sum + (sizes.get(part) ?? 0), 0) > MAX_BYTES;
}

/** @throws RlmError `context_lost` */
export function* readIndex(key: string): Plan<Json> {
  return (yield* headOf(key)).index;
}

function* headOf(key: string): Plan<ContextHead> {
  const row = yield* get(sql`SELECT ${SHOWN_CONTEXT} FROM contexts WHERE hash = ${key}`);
  if (!row) throw contextLost(key, "the store does not have it");
  const head = readHead(row);
  if (!head) throw contextLost(key, "its index is damaged");
  return head;
}

/**
 * Bytes of one row of a context before compression. What zstd cannot compress stays below 4 MiB
 * too.
 */
const CHUNK_BYTES = 4_096_000;

/**
 * Bytes lie in shared memory, so that the machine's thread has them without a copy. null if the
 * part is missing or damaged.
 */
export function* readPart(hash: string): Plan<Uint8Array | null> {
  const row = yield* get(sql`SELECT bytes FROM parts WHERE hash = ${hash}`);
  const length = row ? numberColumn(row, "bytes") : -1;
  // A damaged length must not decide how much memory is taken.
  if (length < 0 || length > MAX_BYTES) return null;
  const bytes = new Uint8Array(new SharedArrayBuffer(length));
  const hashed = createHash("sha256");
  for (let at = 0, chunk = 0; at < length; at += CHUNK_BYTES, chunk += 1) {
    const stored = yield* get(chunkOf(hash, chunk));
    const found = stored?.bytes;
    const expected = Math.min(CHUNK_BYTES, length - at);
    if (!(found instanceof Uint8Array)) return null;
    const bytesOfChunk = unpack(found, expected);
    if (bytesOfChunk?.byteLength !== expected) return null;
    yield* pause();
    hashed.update(bytesOfChunk);
    bytes.set(bytesOfChunk, at);
    // A short one may lie in memory that others share.
    if (expected === CHUNK_BYTES && bytesOfChunk.buffer !== found.buffer) freeBytes(bytesOfChunk);
  }
  return hashed.digest("hex") === hash ? bytes : null;
}

/** True of a row of `contexts` that no session uses and no job names. */
export const UNUSED = sql`contexts.hash NOT IN (SELECT hash FROM uses)
  AND contexts.hash NOT IN (SELECT context FROM jobs WHERE context IS NOT NULL)`;

/**
 * Drops the small contexts that no session uses and no job names, and their parts. Returns how many
 * contexts they were.
 */
export function* dropContexts(): Plan<number> {
  const dropped = yield* run(sql`DELETE FROM contexts WHERE ${UNUSED} AND NOT ${IS_LARGE}`);
  const unused = yield* all(sql`SELECT hash FROM parts WHERE hash NOT IN (${PARTS_OF_CONTEXTS})`);
  for (const row of unused) yield* deletePart(textColumn(row, "hash"));
  return dropped;
}

/** The list of a context's parts, unless it is longer than it can be. */
export const PARTS = raw(`CASE WHEN octet_length(contexts.parts) <= ${PARTS_BYTES} THEN contexts.parts ELSE '[]' END`);

/** For a file: each part of a context. The list of a damaged one may be no JSON. */
export const EACH_PART = sql`json_each(CASE WHEN json_valid(${PARTS}) THEN ${PARTS} ELSE '[]' END)`;

const PARTS_OF_CONTEXTS = spelled(
  sql`SELECT value FROM contexts, ${EACH_PART}`,
  sql`SELECT found[1] FROM contexts, regexp_matches(${PARTS}, '[0-9a-f]{64}', 'g') AS found`,
);

/** More than a context may hold. */
const MAX_BYTES = 2 * LIMITS.contextBytes;

function* hasPart(hash: string): Plan<boolean> {
  return (yield* get(sql`SELECT hash FROM parts WHERE hash = ${hash}`)) !== undefined;
}

function* insertPart({ hash, bytes }: PartInRows): Plan<void> {
  const hashed = createHash("sha256");
  for (let at = 0; at < bytes.byteLength; at += CHUNK_BYTES) {
    hashed.update(bytes.subarray(at, at + CHUNK_BYTES));
    yield* pause();
  }
  if (hashed.digest("hex") !== hash) throw misuse(`a part's hash is not ${hash}`);
  const added = sql`INSERT INTO parts (hash, bytes) VALUES (${hash}, ${bytes.byteLength}) ON CONFLICT (hash) DO NOTHING`;
  // Another process that puts the same part has it now.
  if ((yield* run(added)) === 0) return;
  for (let at = 0, chunk = 0; at < bytes.byteLength; at += CHUNK_BYTES, chunk += 1) {
    const packed = pack(bytes.subarray(at, at + CHUNK_BYTES));
    yield* run(insertedChunk(hash, chunk, packed));
    if (packed.buffer !== bytes.buffer) freeBytes(packed);
  }
}

function* deletePart(hash: string): Plan<void> {
  yield* run(sql`DELETE FROM chunks WHERE ${chunksOf(hash)}`);
  yield* run(sql`DELETE FROM parts WHERE hash = ${hash}`);
}

const places = raw(String(PLACES));

/**
 * In a file the place of a chunk is the number of its part and its own: rows in the order of their
 * keys need no index.
 */
const chunksOf = (hash: string) =>
  spelled(
    sql`place >= (SELECT n FROM parts WHERE hash = ${hash}) * ${places}
      AND place < ((SELECT n FROM parts WHERE hash = ${hash}) + 1) * ${places}`,
    sql`part = ${hash}`,
  );

const chunkOf = (hash: string, chunk: number) =>
  sql`SELECT bytes FROM chunks WHERE ${spelled(
    sql`place = (SELECT n FROM parts WHERE hash = ${hash}) * ${places} + ${chunk}`,
    sql`part = ${hash} AND chunk = ${chunk}`,
  )}`;

const insertedChunk = (hash: string, chunk: number, bytes: Uint8Array) =>
  sql`INSERT INTO chunks ${spelled(
    sql`(place, bytes) SELECT n * ${places} + ${chunk}, ${bytes} FROM parts WHERE hash = ${hash}`,
    sql`(part, chunk, bytes) VALUES (${hash}, ${chunk}, ${bytes})`,
  )}`;

/** All of a context but what is larger than it can be, which is not fetched. */
export const SHOWN_CONTEXT = raw(
  `hash, sha256, ${capped("parts", PARTS_BYTES)}, ${capped("facts", USUAL_BOUNDS.bytes)}`,
);

const isListOfNames = (parts: unknown): parts is readonly string[] => Array.isArray(parts);

interface ContextHead {
  /** Hashes, or names of texts. */
  readonly parts: readonly string[];
  readonly index: Json;
}

/** The context without its bytes; null if it is damaged. */
export function readHead(row: Row): ContextHead | null {
  const listed = jsonIn(row, "parts", ["text"]);
  if (!isListOfNames(listed?.value)) return null;
  const facts = jsonIn(row, "facts", areTexts(listed.value) ? LARGE_INDEX : CONTEXT_INDEX);
  if (!facts) return null;
  const isWhole = isSealed(row, [anyColumn(row, "hash"), anyColumn(row, "parts"), facts.text]);
  return isWhole ? { parts: listed.value, index: facts.value } : null;
}

/** Notes that a session uses those of the hashes that are contexts of the store. */
export function* addUses(session: string, hashes: ReadonlySet<string>): Plan<void> {
  if (hashes.size === 0) return;
  yield* run(sql`INSERT INTO uses (session, hash)
    SELECT ${session}, hash FROM contexts WHERE hash ${oneOf(hashes)} ON CONFLICT DO NOTHING`);
}

/** Notes that a fork uses those contexts of its parent that it names. */
export function* copyUses(parent: string, fork: string, hashes: ReadonlySet<string>): Plan<void> {
  yield* run(sql`INSERT INTO uses (session, hash)
    SELECT ${fork}, hash FROM uses WHERE session = ${parent} AND hash ${oneOf(hashes)}`);
}

/** Contexts that these records name and that the session is not noted to use. */
export function* unnotedUses(session: string, records: unknown): Plan<readonly string[]> {
  const missed = yield* all(sql`SELECT hash FROM contexts WHERE hash ${oneOf(contextKeysIn(records))}
    AND hash NOT IN (SELECT hash FROM uses WHERE session = ${session})`);
  return missed.map((row) => textColumn(row, "hash"));
}

const HASH = /\b[0-9a-f]{64}\b/g;
const HASH_UNITS = 64;

/**
 * All in texts and names of JSON that may be the key of a context. The contexts of the store tell
 * which are. That of a call's arguments is none, and each step has one.
 */
export function hashesIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value === "string") {
    if (value.length >= HASH_UNITS) for (const [hash] of value.matchAll(HASH)) found.add(hash);
  } else if (typeof value === "object" && value !== null) {
    for (const [name, one] of Object.entries(value)) {
      if (name === "args_hash") continue;
      hashesIn(name, found);
      hashesIn(one, found);
    }
  }
  return found;
}

/** Keys of contexts in JSON: the texts that are named `context_key`. */
function contextKeysIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== "object" || value === null) return found;
  for (const [name, one] of Object.entries(value)) {
    if (name === "context_key" && typeof one === "string") found.add(one);
    contextKeysIn(one, found);
  }
  return found;
}

/** The finding of verify about a session whose journal names contexts that gc would drop. */
export function missedUses(hashes: readonly string[]): string {
  return `its journal names contexts that it is not known to use, so that gc would drop them: ${hashes.join(", ")}`;
}
