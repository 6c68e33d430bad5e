import { fieldsOfCheckpoint, type Writing } from "../rows/checkpoint.ts";
import { packedBytes, packText } from "../rows/pack.ts";
import type { PackedPages } from "../rows/pages.ts";
import { number, seal } from "../rows/seal.ts";
import { insertPages } from "../sql/checkpoints.ts";
import { get, type Plan, sql } from "../sql/sql.ts";
import type { Sql } from "./connection.ts";

/** Drops a checkpoint that no session reaches, and the bases that only it needed. */
export function* dropUnneeded(checkpoint: string): Plan<void> {
  yield* get(sql`SELECT drop_unneeded(${checkpoint})::text AS gone`);
}

/** Keeps a baseline, unless it is there. */
export async function insertBaseline(sql: Sql, writing: Writing, pages: PackedPages): Promise<void> {
  const { meta, extras, before, after, sealed } = fieldsOfCheckpoint(writing, pages);
  const row = await sql.get(
    `INSERT INTO checkpoints (id, session, parent, base, exec_id, kind, seq, meta, beside, chain_length, chain_bytes, pages,
      stored_bytes, at, parts, sha256) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
      ON CONFLICT (id) DO NOTHING RETURNING n`,
    ...[...before, packedBytes(packText(meta)), packedBytes(packText(extras)), ...after, seal(sealed)],
  );
  if (row) await sql.perform(insertPages(number(row, "n"), pages));
}
