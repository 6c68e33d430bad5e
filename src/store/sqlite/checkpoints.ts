import { checkpointLost } from "../failure.ts";
import { fieldsOfCheckpoint, type Writing } from "../rows/checkpoint.ts";
import { packText } from "../rows/pack.ts";
import type { PackedPages } from "../rows/pages.ts";
import { numberColumn, type Row, seal, textColumnOrNull } from "../rows/seal.ts";
import { dropPages, hasCheckpoint, insertPages } from "../sql/checkpoints.ts";
import { CHECKPOINT_BYTES } from "../sql/sessions.ts";
import { get, list, type Plan, raw, run, sql } from "../sql/sql.ts";

/** Writes a checkpoint and its pages. Returns the bytes that they take. @throws RlmError `checkpoint_lost` */
export function* insertCheckpoint(writing: Writing, pages: PackedPages): Plan<number> {
  const { base, session } = writing;
  if (base !== null && !(yield* hasCheckpoint(base))) throw checkpointLost(writing.id, `its base ${base} is missing`);
  const last = yield* get(sql`SELECT coalesce(max(n), 0) AS n FROM checkpoints`);
  const n = (last ? numberColumn(last, "n") : 0) + 1;
  const { meta, extras, before, after, sealed } = fieldsOfCheckpoint(writing, pages);
  const packedMeta = packText(meta);
  const beside = packText(extras);
  yield* run(sql`INSERT INTO checkpoints (n, id, session, parent, base, exec_id, kind, seq, meta, beside, chain_length,
      chain_bytes, pages, stored_bytes, at, parts, sha256)
    VALUES (${list([n, ...before, packedMeta, beside, ...after, seal([n, ...sealed])])})`);
  yield* insertPages(n, pages);
  if (session !== null) yield* run(sql`INSERT INTO reach (session, checkpoint) VALUES (${session}, ${n})`);
  return pages.bytes + Buffer.byteLength(packedMeta) + Buffer.byteLength(beside);
}

/** Takes checkpoints from the session, and drops those that nothing else needs. Returns how many were taken, and their bytes. */
export function* letGo(session: string, ids: readonly string[]): Plan<{ count: number; bytes: number }> {
  const gone = { count: 0, bytes: 0 };
  for (const id of ids) {
    const row = yield* get(sql`SELECT n, ${raw(CHECKPOINT_BYTES)} AS bytes FROM checkpoints c WHERE id = ${id}`);
    if (!row) continue;
    const taken = yield* run(
      sql`DELETE FROM reach WHERE session = ${session} AND checkpoint = ${numberColumn(row, "n")}`,
    );
    gone.count += taken;
    gone.bytes += taken * numberColumn(row, "bytes");
    yield* dropUnneeded(id);
  }
  return gone;
}

/** Drops a checkpoint that no session reaches, and the bases that only it needed. */
export function* dropUnneeded(id: string): Plan<void> {
  for (let next: string | null = id; next !== null; ) {
    const row: Row | undefined = yield* get(sql`DELETE FROM checkpoints AS c WHERE id = ${next} AND session IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM reach WHERE checkpoint = c.n)
      AND NOT EXISTS (SELECT 1 FROM checkpoints d WHERE d.base = c.id) RETURNING n, base`);
    if (!row) return;
    yield* dropPages(numberColumn(row, "n"));
    next = textColumnOrNull(row, "base");
  }
}
