import { createHash } from "node:crypto";
import type { Json } from "../../../runtime/index.ts";
import { contextLost, misuse } from "../failure.ts";
import type { StoredContext } from "../port.ts";
import { type ContextHead, readHead } from "../rows/context.ts";
import { CHUNK_BYTES, pack, packText, unpack } from "../rows/pack.ts";
import { number, seal } from "../rows/seal.ts";
import type { Database } from "./database.ts";
import { PLACES } from "./schema.ts";

/**
 * Keeps a context, and those of its parts that are missing. A context that is there already is put again only after it was
 * lost. Each of its parts is then read, and written again if it is damaged.
 */
export function insertContext(database: Database, { key, parts, index }: StoredContext): void {
  const again = hasContext(database, key);
  for (const part of parts) {
    if (hasPart(database, part.hash) && !(again && readPart(database, part.hash) === null)) continue;
    deletePart(database, part.hash);
    insertPart(database, part);
  }
  const list = JSON.stringify(parts.map((part) => part.hash));
  const facts = JSON.stringify(index);
  database.run(
    "INSERT OR REPLACE INTO contexts (hash, parts, facts, sha256) VALUES (?, ?, ?, ?)",
    ...[key, list, packText(facts), seal([key, list, facts])],
  );
}

export function hasContext(database: Database, key: string): boolean {
  return database.get("SELECT hash FROM contexts WHERE hash = ?", key) !== undefined;
}

/** Bytes lie in shared memory, so that they cross threads without a copy. @throws RlmError `context_lost` */
export function readContext(database: Database, key: string): StoredContext {
  const head = headOf(database, key);
  const parts = head.parts.map((part) => {
    const bytes = readPart(database, part);
    if (!bytes) throw contextLost(key, `its part ${part} is missing or damaged`);
    return { hash: part, bytes };
  });
  return { key, parts, index: head.index };
}

/** @throws RlmError `context_lost` */
export function readIndex(database: Database, key: string): Json {
  return headOf(database, key).index;
}

function headOf(database: Database, key: string): ContextHead {
  const row = database.get("SELECT * FROM contexts WHERE hash = ?", key);
  if (!row) throw contextLost(key, "the store does not have it");
  const head = readHead(row);
  if (!head) throw contextLost(key, "its index is damaged");
  return head;
}

/** null if the part is missing or damaged. */
export function readPart(database: Database, hash: string): Uint8Array | null {
  const row = database.get("SELECT n, bytes FROM parts WHERE hash = ?", hash);
  if (!row) return null;
  const length = number(row, "bytes");
  // A damaged length must not decide how much memory is taken.
  if (length < 0 || length > MAX_CHUNKS * CHUNK_BYTES) return null;
  const bytes = new Uint8Array(new SharedArrayBuffer(length));
  const hashed = createHash("sha256");
  for (let at = 0, chunk = 0; at < length; at += CHUNK_BYTES, chunk += 1) {
    const stored = database.get("SELECT bytes FROM chunks WHERE place = ?", number(row, "n") * PLACES + chunk);
    const packed = stored?.bytes;
    const expected = Math.min(CHUNK_BYTES, length - at);
    const raw = packed instanceof Uint8Array ? unpack(packed, expected) : null;
    if (raw?.byteLength !== expected) return null;
    hashed.update(raw);
    bytes.set(raw, at);
  }
  return hashed.digest("hex") === hash ? bytes : null;
}

/** Drops the context; its parts go with `dropUnusedParts`. */
export function deleteContext(database: Database, key: string): void {
  database.run("DELETE FROM contexts WHERE hash = ?", key);
}

/** Drops the parts that no context has. */
export function dropUnusedParts(database: Database): void {
  const unused = "SELECT hash FROM parts WHERE hash NOT IN (SELECT value FROM contexts, json_each(contexts.parts))";
  for (const row of database.all(unused)) deletePart(database, String(row.hash));
}

/** 512 MB: more than a context may hold. */
const MAX_CHUNKS = 128;

function hasPart(database: Database, hash: string): boolean {
  return database.get("SELECT n FROM parts WHERE hash = ?", hash) !== undefined;
}

function insertPart(database: Database, { hash, bytes }: StoredContext["parts"][number]): void {
  if (createHash("sha256").update(bytes).digest("hex") !== hash) throw misuse(`a part's hash is not ${hash}`);
  database.run("INSERT INTO parts (hash, bytes) VALUES (?, ?)", hash, bytes.byteLength);
  const row = database.get("SELECT n FROM parts WHERE hash = ?", hash);
  const n = row ? number(row, "n") : 0;
  for (let at = 0, chunk = 0; at < bytes.byteLength; at += CHUNK_BYTES, chunk += 1) {
    const packed = pack(bytes.subarray(at, at + CHUNK_BYTES));
    database.run("INSERT INTO chunks (place, bytes) VALUES (?, ?)", n * PLACES + chunk, packed);
  }
}

function deletePart(database: Database, hash: string): void {
  const row = database.get("SELECT n FROM parts WHERE hash = ?", hash);
  if (!row) return;
  const n = number(row, "n");
  database.run("DELETE FROM chunks WHERE place >= ? AND place < ?", n * PLACES, (n + 1) * PLACES);
  database.run("DELETE FROM parts WHERE n = ?", n);
}
