import { freeBytes } from "../../../runtime/index.ts";
import { checkpointLost, storeFull } from "../failure.ts";
import type { Step } from "../port.ts";
import { fieldsOfCheckpoint, type Writing } from "../rows/checkpoint.ts";
import { packText } from "../rows/pack.ts";
import type { PackedPages } from "../rows/pages.ts";
import { numberColumn, type Row, seal, textColumn, textColumnOrNull } from "../rows/row.ts";
import { afterStep, CHANGING, fieldsOf, type Session } from "../rows/session.ts";
import { keepJobAnswers } from "../sql/answers.ts";
import { dropDelivered } from "../sql/batch-requests.ts";
import { keepAnswers } from "../sql/cache.ts";
import { dropPages, hasCheckpoint, insertPages, packInTurns } from "../sql/checkpoints.ts";
import { addUses, hashesIn } from "../sql/contexts.ts";
import { insertRecords, packedRecords } from "../sql/journal.ts";
import { CHECKPOINT_BYTES, notFound, readSession } from "../sql/sessions.ts";
import { all, get, list, oneOf, type Plan, raw, run, sql } from "../sql/sql.ts";
import type { Database } from "./database.ts";
import { settle } from "./jobs.ts";

/**
 * Keeps a step, all of it or nothing. Returns the bytes that the session takes more.
 *
 * @param known rows after the last commits to sessions that no other process can have written to
 * since
 */
export async function commit(database: Database, id: string, step: Step, known: Map<string, Session>): Promise<number> {
  const { checkpoint } = step;
  const pages = checkpoint ? await database.perform(packInTurns(checkpoint.pages, checkpoint.meta.linearBytes)) : null;
  // After a failure the row is read again.
  const forget = () => known.delete(id);
  const more = await database.write(() => database.perform(kept(id, step, pages, known)), forget, step.mayWait);
  for (const { bytes } of pages?.parts ?? []) freeBytes(bytes);
  return more;
}

function* kept(id: string, step: Step, pages: PackedPages | null, known: Map<string, Session>): Plan<number> {
  const { checkpoint, records = [], drop = [], cache = [], answers = [] } = step;
  const session = known.get(id) ?? (yield* readSession(id));
  const seq = session.last_seq + records.length;
  const image = checkpoint && pages ? yield* insertCheckpoint({ ...checkpoint, session: id, seq }, pages) : 0;
  const { written, bytes } = packedRecords(id, session.last_seq + 1, records);
  yield* insertRecords(written);
  const gone = yield* letGo(id, drop);
  const next = afterStep(session, step, bytes, gone.count);
  const more = image + bytes - gone.bytes;
  if (step.space && step.space.taken + more > step.space.most) throw storeFull(step.space, more);
  yield* keepAnswers(cache);
  yield* keepJobAnswers(answers);
  for (const settled of step.settle ?? []) yield* settle(settled);
  if (step.delivered) yield* dropDelivered(id, step.delivered);
  yield* updateSession(next);
  yield* addUses(id, hashesIn([records, step.facts, step.settings, checkpoint?.extras]));
  known.set(id, next);
  return more;
}

/** Writes the columns that change in the life of a session. @throws RlmError `session_not_found` */
function* updateSession(session: Session): Plan<void> {
  const fields = CHANGING.map((column) => session[column]);
  const written = yield* run(sql`UPDATE sessions SET (${raw(CHANGING.join(", "))}, sha256)
    = (${list([...fields, seal(fieldsOf(session))])}) WHERE id = ${session.id}`);
  if (written === 0) throw notFound(session.id);
}

/**
 * Writes a checkpoint and its pages. Returns the bytes that they take.
 *
 * @throws RlmError `checkpoint_lost`
 */
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

/**
 * Takes checkpoints from the session, and drops those that nothing else needs. Returns how many
 * were taken, and their bytes.
 */
function* letGo(session: string, ids: readonly string[]): Plan<{ count: number; bytes: number }> {
  if (ids.length === 0) return { count: 0, bytes: 0 };
  const reached = sql`SELECT 1 FROM reach WHERE session = ${session} AND checkpoint = c.n`;
  const rows = yield* all(sql`SELECT c.id, c.n, ${raw(CHECKPOINT_BYTES)} AS bytes, EXISTS (${reached}) AS taken
    FROM checkpoints c WHERE c.id ${oneOf(ids)}`);
  yield* run(sql`DELETE FROM reach WHERE session = ${session} AND checkpoint ${oneOf(rows.map(({ n }) => Number(n)))}`);
  // Dropping the newest drops its bases too, as far as nothing else needs them.
  const dropped = new Set<string>();
  for (const row of rows.toSorted((a, b) => numberColumn(b, "n") - numberColumn(a, "n"))) {
    const id = textColumn(row, "id");
    if (!dropped.has(id)) for (const one of yield* dropUnneeded(id)) dropped.add(one);
  }
  const taken = rows.filter((row) => row.taken === 1);
  return { count: taken.length, bytes: taken.reduce((sum, row) => sum + numberColumn(row, "bytes"), 0) };
}

/** Drops a checkpoint that no session reaches, and the bases that only it needed. Returns the ids of all of them. */
export function* dropUnneeded(id: string): Plan<readonly string[]> {
  const dropped: string[] = [];
  for (let next: string | null = id; next !== null; ) {
    const row: Row | undefined = yield* get(sql`DELETE FROM checkpoints AS c WHERE id = ${next} AND session IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM reach WHERE checkpoint = c.n)
      AND NOT EXISTS (SELECT 1 FROM checkpoints d WHERE d.base = c.id) RETURNING n, base`);
    if (!row) break;
    dropped.push(next);
    yield* dropPages(numberColumn(row, "n"));
    next = textColumnOrNull(row, "base");
  }
  return dropped;
}
