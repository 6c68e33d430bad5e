import { applyPart, type GuestImage, type PagesPart, problemOf } from "../../../runtime/index.ts";
import { checkpointLost } from "../failure.ts";
import {
  type Checkpoint,
  checkpointsIn,
  DAMAGED,
  decodeCheckpoint,
  fieldsOfCheckpoint,
  type Reaching,
  type ReadableCheckpoints,
  WITHOUT_NUMBER,
  type Writing,
} from "../rows/checkpoint.ts";
import { type PackedPages, partsOf, wholePart } from "../rows/pages.ts";
import { number, seal } from "../rows/seal.ts";
import { bytesOfText } from "./commit.ts";
import type { Sql } from "./connection.ts";

/** @throws RlmError `checkpoint_lost` if it is missing or damaged */
export async function readCheckpoint(sql: Sql, id: string): Promise<Checkpoint> {
  const row = await sql.get("SELECT * FROM checkpoints WHERE id = $1", id);
  if (!row) throw checkpointLost(id, "the store does not have it");
  const checkpoint = decodeCheckpoint(row, WITHOUT_NUMBER);
  if (!checkpoint) throw checkpointLost(id, DAMAGED);
  return checkpoint;
}

/** Those that the session reaches and that are whole, the ids of the others, and how many are missing in all. */
export async function readableCheckpoints(sql: Sql, session: Reaching): Promise<ReadableCheckpoints> {
  const reached = "SELECT c.* FROM reach r JOIN checkpoints c ON c.n = r.checkpoint WHERE r.session = $1 ORDER BY c.n";
  return checkpointsIn(await sql.all(reached, session.id), session, WITHOUT_NUMBER);
}

export async function hasCheckpoint(sql: Sql, id: string): Promise<boolean> {
  return (await sql.get("SELECT n FROM checkpoints WHERE id = $1", id)) !== undefined;
}

/** Keeps a baseline, unless it is there. */
export async function insertBaseline(sql: Sql, writing: Writing, pages: PackedPages): Promise<void> {
  const { meta, extras, before, after, sealed } = fieldsOfCheckpoint(writing, pages);
  const row = await sql.get(
    `INSERT INTO checkpoints (id, session, parent, base, exec_id, kind, seq, meta, beside, chain_length, chain_bytes, pages,
      stored_bytes, at, parts, sha256) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
      ON CONFLICT (id) DO NOTHING RETURNING n`,
    ...[...before, bytesOfText(meta), bytesOfText(extras), ...after, seal(sealed)],
  );
  if (!row) return;
  for (const [part, { numbers, bytes }] of pages.parts.entries()) {
    const written = "INSERT INTO pages (checkpoint, part, numbers, bytes) VALUES ($1, $2, $3, $4)";
    await sql.run(written, number(row, "n"), part, numbers, bytes);
  }
}

/** The image, put together from its bases. @throws RlmError `checkpoint_lost` */
export async function readImage(sql: Sql, id: string): Promise<GuestImage> {
  const top = await readCheckpoint(sql, id);
  const chain = [top];
  for (let next = await baseOf(sql, id, top); next; next = await baseOf(sql, id, next)) chain.unshift(next);
  const memory = new Uint8Array(top.meta.linearBytes);
  for (const checkpoint of chain) {
    for (const part of await readParts(sql, checkpoint, memory.byteLength)) {
      if (part) {
        applyPart(memory, part);
        continue;
      }
      const whose = checkpoint.id === id ? "its pages" : `pages of its base ${checkpoint.id}`;
      throw checkpointLost(id, `${whose} are damaged`);
    }
  }
  return { id, meta: top.meta, memory };
}

/** Whether all parts of the checkpoint's own pages are whole. */
export async function pagesAreWhole(sql: Sql, checkpoint: Checkpoint): Promise<boolean> {
  const parts = await readParts(sql, checkpoint, checkpoint.meta.linearBytes);
  const count = parts.reduce((sum, part) => sum + (part?.numbers.length ?? Number.NaN), 0);
  return count === checkpoint.pages;
}

/** null in place of the first that is missing or damaged, and then no more. */
async function readParts(sql: Sql, checkpoint: Checkpoint, linearBytes: number): Promise<(PagesPart | null)[]> {
  const rows = await sql.all("SELECT part, numbers, bytes FROM pages WHERE checkpoint = $1", checkpoint.n);
  const byPart = new Map(rows.map((row) => [row.part, row]));
  const read: (PagesPart | null)[] = [];
  let last = -1;
  for (let part = 0; part < partsOf(checkpoint); part++) {
    const found = wholePart(byPart.get(part), checkpoint, part);
    const isWhole = found !== null && problemOf(found, last, linearBytes) === null;
    read.push(isWhole ? found : null);
    if (!isWhole) break;
    last = found.numbers.at(-1) ?? last;
  }
  return read;
}

async function baseOf(sql: Sql, id: string, { base }: Checkpoint): Promise<Checkpoint | null> {
  if (base === null) return null;
  try {
    return await readCheckpoint(sql, base);
  } catch (error) {
    throw checkpointLost(id, `its base ${base} is missing or damaged`, error);
  }
}
