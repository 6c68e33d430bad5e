import type { ImageMeta } from "../../../runtime/index.ts";
import { checkpointLost, corrupt } from "../failure.ts";
import type { CheckpointRow, NewCheckpoint } from "../port.ts";
import { packText, unpackText } from "../rows/pack.ts";
import { blob, isSealed, number, type Row, seal, text, textOrNull, value } from "../rows/seal.ts";
import type { Database } from "./database.ts";
import { deletePages, insertPages, type PackedPages } from "./pages.ts";

/** A row of `checkpoints`, verified. Baselines have no session. */
export interface Checkpoint extends Omit<CheckpointRow, "session" | "kind"> {
  /** Ascends with every checkpoint of the store. */
  readonly n: number;
  readonly session: string | null;
  readonly kind: Kind;
  /** SHA-256 of each part of its pages: of the numbers, then of the bytes. */
  readonly parts: Uint8Array;
}

type Kind = CheckpointRow["kind"] | "baseline";

/** What is written: pages are packed before the transaction begins. */
export type Writing = Pick<NewCheckpoint, "id" | "parent" | "base" | "meta" | "chain" | "at"> & {
  readonly session: string | null;
  readonly extras: NewCheckpoint["extras"] | null;
  readonly exec_id: string | null;
  readonly kind: Kind;
  readonly seq: number;
};

/** @throws RlmError `checkpoint_lost` if its base is missing */
export function insertCheckpoint(database: Database, writing: Writing, pages: PackedPages): number {
  const { base, chain } = writing;
  if (base !== null && !hasCheckpoint(database, base)) throw checkpointLost(writing.id, `its base ${base} is missing`);
  const last = database.get("SELECT coalesce(max(n), 0) AS n FROM checkpoints");
  const n = (last ? number(last, "n") : 0) + 1;
  const meta = JSON.stringify(writing.meta);
  const extras = JSON.stringify(writing.extras);
  const { id, session, parent, exec_id, kind, seq, at } = writing;
  const before = [n, id, session, parent, base, exec_id, kind, seq];
  const after = [chain.length, chain.bytes, pages.count, pages.bytes, at, pages.seals];
  database.run(
    `INSERT INTO checkpoints (n, id, session, parent, base, exec_id, kind, seq, meta, beside, chain_length, chain_bytes,
      pages, stored_bytes, at, parts, sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[...before, packText(meta), packText(extras), ...after, seal([...before, meta, extras, ...after])],
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
  const checkpoint = decode(row);
  if (!checkpoint) throw checkpointLost(id, DAMAGED);
  return checkpoint;
}

/** Those that the session reaches, the oldest first. @throws RlmError `store_corrupt`, `checkpoint_lost` */
export function reachedBy(database: Database, session: Reaching): Checkpoint[] {
  const { checkpoints, miscounted, damaged } = readableCheckpoints(database, session);
  if (miscounted !== null) throw corrupt(miscounted);
  const [first] = damaged;
  if (first !== undefined) throw checkpointLost(first, DAMAGED);
  return checkpoints;
}

type Reaching = Readonly<{ id: string; checkpoints: number }>;

const DAMAGED = "it is damaged";

/** Those that the session reaches and that are whole, the ids of the others, and how many are missing in all. */
export function readableCheckpoints(
  database: Database,
  { id, checkpoints: count }: Reaching,
): { readonly checkpoints: Checkpoint[]; readonly damaged: string[]; readonly miscounted: string | null } {
  const rows = database.all(
    "SELECT c.* FROM reach r JOIN checkpoints c ON c.n = r.checkpoint WHERE r.session = ? ORDER BY c.n",
    id,
  );
  const read = rows.map((row) => ({ id: String(row.id), checkpoint: decode(row) }));
  return {
    checkpoints: read.flatMap(({ checkpoint }) => checkpoint ?? []),
    damaged: read.flatMap(({ id, checkpoint }) => (checkpoint ? [] : [id])),
    miscounted: rows.length === count ? null : `session ${id} has ${rows.length} checkpoints, not ${count}`,
  };
}

/** The checkpoint as the port shows it. */
export function shown(checkpoint: Checkpoint): CheckpointRow {
  const { n: _, parts, session, kind, ...rest } = checkpoint;
  if (session === null || kind === "baseline") throw checkpointLost(rest.id, "it is the image of a fresh guest");
  return { ...rest, session, kind };
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

/** null if the row is damaged. */
export function decode(row: Row): Checkpoint | null {
  const meta = unpackText(row, "meta");
  const extras = unpackText(row, "beside");
  const columns = (names: readonly string[]) => names.map((name) => value(row, name));
  if (meta === null || extras === null) return null;
  if (!isSealed(row, [...columns(BEFORE), meta, extras, ...columns(AFTER)])) return null;
  const kind = kindOf(text(row, "kind"));
  const parsed: ImageMeta = JSON.parse(meta);
  return {
    n: number(row, "n"),
    id: text(row, "id"),
    session: textOrNull(row, "session"),
    parent: textOrNull(row, "parent"),
    base: textOrNull(row, "base"),
    exec_id: textOrNull(row, "exec_id") ?? "",
    kind,
    seq: number(row, "seq"),
    meta: parsed,
    extras: JSON.parse(extras),
    chain: { length: number(row, "chain_length"), bytes: number(row, "chain_bytes") },
    pages: number(row, "pages"),
    stored_bytes: number(row, "stored_bytes"),
    at: number(row, "at"),
    parts: blob(row, "parts"),
  };
}

const BEFORE = ["n", "id", "session", "parent", "base", "exec_id", "kind", "seq"];
const AFTER = ["chain_length", "chain_bytes", "pages", "stored_bytes", "at", "parts"];

function kindOf(kind: string): Kind {
  if (kind === "step" || kind === "end" || kind === "baseline") return kind;
  throw corrupt(`a checkpoint's kind is ${kind}`);
}
