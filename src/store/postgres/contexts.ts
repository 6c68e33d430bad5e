import { createHash } from "node:crypto";
import { contextLost, misuse } from "../failure.ts";
import type { StoredContext } from "../port.ts";
import { type ContextHead, readHead } from "../rows/context.ts";
import { CHUNK_BYTES, pack, unpack } from "../rows/pack.ts";
import { number, seal } from "../rows/seal.ts";
import { bytesOfText } from "./commit.ts";
import type { Sql } from "./connection.ts";

/** Keeps a context, and those of its parts that are missing or, if it is put again, damaged. */
export async function insertContext(sql: Sql, { key, parts, index }: StoredContext): Promise<void> {
  const again = await hasContext(sql, key);
  for (const part of parts) {
    const isThere = (await sql.get("SELECT hash FROM parts WHERE hash = $1", part.hash)) !== undefined;
    if (isThere && !(again && (await readPart(sql, part.hash)) === null)) continue;
    await deletePart(sql, part.hash);
    await insertPart(sql, part);
  }
  const list = JSON.stringify(parts.map((part) => part.hash));
  const facts = JSON.stringify(index);
  await sql.run(
    `INSERT INTO contexts (hash, parts, facts, sha256) VALUES ($1, $2, $3, $4)
      ON CONFLICT (hash) DO UPDATE SET parts = excluded.parts, facts = excluded.facts, sha256 = excluded.sha256`,
    ...[key, list, bytesOfText(facts), seal([key, list, facts])],
  );
}

export async function hasContext(sql: Sql, key: string): Promise<boolean> {
  return (await sql.get("SELECT hash FROM contexts WHERE hash = $1", key)) !== undefined;
}

/** @throws RlmError `context_lost` */
export async function readContext(sql: Sql, key: string): Promise<StoredContext> {
  const head = await headOf(sql, key);
  const parts: StoredContext["parts"][number][] = [];
  for (const part of head.parts) {
    const bytes = await readPart(sql, part);
    if (!bytes) throw contextLost(key, `its part ${part} is missing or damaged`);
    parts.push({ hash: part, bytes });
  }
  return { key, parts, index: head.index };
}

/** @throws RlmError `context_lost` */
export async function headOf(sql: Sql, key: string): Promise<ContextHead> {
  const row = await sql.get("SELECT * FROM contexts WHERE hash = $1", key);
  if (!row) throw contextLost(key, "the store does not have it");
  const head = readHead(row);
  if (!head) throw contextLost(key, "its index is damaged");
  return head;
}

/** Bytes lie in shared memory, so that they cross threads without a copy. null if the part is missing or damaged. */
export async function readPart(sql: Sql, hash: string): Promise<Uint8Array | null> {
  const row = await sql.get("SELECT bytes FROM parts WHERE hash = $1", hash);
  const length = row ? number(row, "bytes") : -1;
  // A damaged length must not decide how much memory is taken.
  if (length < 0 || length > MAX_CHUNKS * CHUNK_BYTES) return null;
  const bytes = new Uint8Array(new SharedArrayBuffer(length));
  const hashed = createHash("sha256");
  for (let at = 0, chunk = 0; at < length; at += CHUNK_BYTES, chunk += 1) {
    const stored = await sql.get("SELECT bytes FROM chunks WHERE part = $1 AND chunk = $2", hash, chunk);
    const packed = stored?.bytes;
    const expected = Math.min(CHUNK_BYTES, length - at);
    const raw = packed instanceof Uint8Array ? unpack(packed, expected) : null;
    if (raw?.byteLength !== expected) return null;
    hashed.update(raw);
    bytes.set(raw, at);
  }
  return hashed.digest("hex") === hash ? bytes : null;
}

/** 512 MB: more than a context may hold. */
const MAX_CHUNKS = 128;

async function insertPart(sql: Sql, { hash, bytes }: StoredContext["parts"][number]): Promise<void> {
  if (createHash("sha256").update(bytes).digest("hex") !== hash) throw misuse(`a part's hash is not ${hash}`);
  const added = "INSERT INTO parts (hash, bytes) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING";
  // Another process that puts the same part has it now.
  if ((await sql.run(added, hash, bytes.byteLength)) === 0) return;
  for (let at = 0, chunk = 0; at < bytes.byteLength; at += CHUNK_BYTES, chunk += 1) {
    // PostgreSQL's client takes bytes of memory of its own.
    const packed = pack(new Uint8Array(bytes.subarray(at, at + CHUNK_BYTES)));
    await sql.run("INSERT INTO chunks (part, chunk, bytes) VALUES ($1, $2, $3)", hash, chunk, packed);
  }
}

export async function deletePart(sql: Sql, hash: string): Promise<void> {
  await sql.run("DELETE FROM chunks WHERE part = $1", hash);
  await sql.run("DELETE FROM parts WHERE hash = $1", hash);
}
