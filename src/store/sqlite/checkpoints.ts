import { checkpointLost } from "../failure.ts";
import {
  type Checkpoint,
  checkpointsIn,
  DAMAGED,
  decodeCheckpoint,
  fieldsOfCheckpoint,
  type Reaching,
  type ReadableCheckpoints,
  type Writing,
  wholeCheckpoints,
} from "../rows/checkpoint.ts";
import { packText } from "../rows/pack.ts";
import type { PackedPages } from "../rows/pages.ts";
import { number, type Row, seal, textOrNull } from "../rows/seal.ts";
import type { Database } from "./database.ts";
import { deletePages, insertPages } from "./pages.ts";

/** @throws RlmError `checkpoint_lost` if its base is missing */
export function insertCheckpoint(database: Database, writing: Writing, pages: PackedPages): number {
  const { base, session } = writing;
  if (base !== null && !hasCheckpoint(database, base)) throw checkpointLost(writing.id, `its base ${base} is missing`);
  const last = database.get("SELECT coalesce(max(n), 0) AS n FROM checkpoints");
  const n = (last ? number(last, "n") : 0) + 1;
  const { meta, extras, before, after, sealed } = fieldsOfCheckpoint(writing, pages);
  database.run(
    `INSERT INTO checkpoints (n, id, session, parent, base, exec_id, kind, seq, meta, beside, chain_length, chain_bytes,
      pages, stored_bytes, at, parts, sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[n, ...before, packText(meta), packText(extras), ...after, seal([n, ...sealed])],
  );
  insertPages(database, n, pages);
  if (session !== null) addReach(database, session, n);
  return n;
}

export function hasCheckpoint(database: Database, id: string): boolean {
  return database.get("SELECT n FROM checkpoints WHERE id = ?", id) !== undefined;
}

/** @throws RlmError `checkpoint_lost` if it is missing or damaged */
export function readCheckpoint(database: Database, id: string): Checkpoint {
  const row = database.get("SELECT * FROM checkpoints WHERE id = ?", id);
  if (!row) throw checkpointLost(id, "the store does not have it");
  const checkpoint = decodeCheckpoint(row);
  if (!checkpoint) throw checkpointLost(id, DAMAGED);
  return checkpoint;
}

/** Those that the session reaches, the oldest first. @throws RlmError `store_corrupt`, `checkpoint_lost` */
export function reachedBy(database: Database, session: Reaching): Checkpoint[] {
  return wholeCheckpoints(readableCheckpoints(database, session));
}

/** Those that the session reaches and that are whole, the ids of the others, and how many are missing in all. */
export function readableCheckpoints(database: Database, session: Reaching): ReadableCheckpoints {
  const reached = "SELECT c.* FROM reach r JOIN checkpoints c ON c.n = r.checkpoint WHERE r.session = ? ORDER BY c.n";
  return checkpointsIn(database.all(reached, session.id), session);
}

export function addReach(database: Database, session: string, checkpoint: number): void {
  database.run("INSERT INTO reach (session, checkpoint) VALUES (?, ?)", session, checkpoint);
}

/** Takes checkpoints from the session, and drops those that nothing else needs. Answers how many were taken. */
export function letGo(database: Database, session: string, ids: readonly string[]): number {
  let gone = 0;
  for (const id of ids) {
    const row = database.get("SELECT n, base FROM checkpoints WHERE id = ?", id);
    if (!row) continue;
    gone += database.run("DELETE FROM reach WHERE session = ? AND checkpoint = ?", session, number(row, "n"));
    dropUnneeded(database, id);
  }
  return gone;
}

/** Drops the checkpoint, and the bases that only it needed. */
function dropUnneeded(database: Database, id: string): void {
  let next: string | null = id;
  while (next !== null) {
    const needed = `SELECT n, base FROM checkpoints c WHERE id = ? AND session IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM reach WHERE checkpoint = c.n)
      AND NOT EXISTS (SELECT 1 FROM checkpoints d WHERE d.base = c.id)`;
    const row: Row | undefined = database.get(needed, next);
    if (!row) return;
    deleteCheckpoint(database, number(row, "n"));
    next = textOrNull(row, "base");
  }
}

export function deleteCheckpoint(database: Database, n: number): void {
  database.run("DELETE FROM checkpoints WHERE n = ?", n);
  deletePages(database, n);
}
