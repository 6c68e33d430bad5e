import { freeBytes } from "../../../runtime/index.ts";
import { storeFull } from "../failure.ts";
import type { Step } from "../port.ts";
import type { PackedPages } from "../rows/pages.ts";
import { seal } from "../rows/seal.ts";
import { afterStep, CHANGING, fieldsOf, type Session } from "../rows/session.ts";
import { keepJobAnswers } from "../sql/answers.ts";
import { dropDelivered } from "../sql/batch-requests.ts";
import { keepAnswers } from "../sql/cache.ts";
import { packInTurns } from "../sql/checkpoints.ts";
import { insertRecords, packedRecords } from "../sql/journal.ts";
import { notFound, readSession } from "../sql/sessions.ts";
import { list, type Plan, raw, run, sql } from "../sql/sql.ts";
import { addUses, hashesIn } from "../sql/uses.ts";
import { insertCheckpoint, letGo } from "./checkpoints.ts";
import type { Database } from "./database.ts";
import { settle } from "./jobs.ts";

/**
 * Keeps a step, all of it or nothing. Returns the bytes that the session takes more.
 *
 * @param known rows after the last commits to sessions that no other process can have written to since
 */
export async function commit(database: Database, id: string, step: Step, known: Map<string, Session>): Promise<number> {
  const { checkpoint } = step;
  const pages = checkpoint ? await database.perform(packInTurns(checkpoint.pages, checkpoint.meta.linearBytes)) : null;
  // After a failure the row is read again.
  const forget = () => known.delete(id);
  const more = await database.write(() => database.perform(kept(id, step, pages, known)), forget);
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
