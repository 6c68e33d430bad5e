import { freeBytes } from "../../../runtime/index.ts";
import { storeFull } from "../failure.ts";
import type { Step } from "../port.ts";
import { packPages } from "../rows/pages.ts";
import { seal } from "../rows/seal.ts";
import { afterStep, CHANGING, fieldsOf, type Session } from "../rows/session.ts";
import { keepJobAnswers } from "../sql/answers.ts";
import { dropDelivered } from "../sql/batch-requests.ts";
import { keepAnswers } from "../sql/cache.ts";
import { insertRecords, packedRecords } from "../sql/journal.ts";
import { notFound, readSession } from "../sql/sessions.ts";
import { addUses, hashesIn } from "../sql/uses.ts";
import { insertCheckpoint, letGo } from "./checkpoints.ts";
import type { Database } from "./database.ts";
import { settle } from "./jobs/money.ts";

/**
 * Keeps a step, all of it or nothing. Answers the bytes that the session takes more.
 *
 * @param known rows after the last commits to sessions that no other process can have written to since
 */
export function commit(database: Database, id: string, step: Step, known: Map<string, Session>): number {
  const { checkpoint, records = [], drop = [], cache = [], answers = [] } = step;
  const pages = checkpoint ? packPages(checkpoint.pages, checkpoint.meta.linearBytes) : null;
  const work = () => {
    const session = known.get(id) ?? database.perform(readSession(id));
    const seq = session.last_seq + records.length;
    const image = checkpoint && pages ? insertCheckpoint(database, { ...checkpoint, session: id, seq }, pages) : 0;
    const { written, bytes } = packedRecords(id, session.last_seq + 1, records);
    database.perform(insertRecords(written));
    const gone = letGo(database, id, drop);
    const next = afterStep(session, step, bytes, gone.count);
    const more = image + bytes - gone.bytes;
    if (step.space && step.space.taken + more > step.space.most) throw storeFull(step.space, more);
    database.perform(keepAnswers(cache));
    database.perform(keepJobAnswers(answers));
    for (const settled of step.settle ?? []) database.perform(settle(settled));
    if (step.delivered) database.perform(dropDelivered(id, step.delivered));
    updateSession(database, next);
    database.perform(addUses(id, hashesIn([records, step.facts, step.settings, checkpoint?.extras])));
    known.set(id, next);
    return more;
  };
  // After a failure the row is read again.
  const more = database.write(work, () => known.delete(id));
  for (const { bytes } of pages?.parts ?? []) freeBytes(bytes);
  return more;
}

/** Writes the columns that change in the life of a session. @throws RlmError `session_not_found` */
function updateSession(database: Database, session: Session): void {
  const fields = CHANGING.map((column) => session[column]);
  const written = database.run(UPDATE, ...fields, seal(fieldsOf(session)), session.id);
  if (written === 0) throw notFound(session.id);
}

const UPDATE = `UPDATE sessions SET ${CHANGING.map((column) => `${column} = ?`).join(", ")}, sha256 = ? WHERE id = ?`;
