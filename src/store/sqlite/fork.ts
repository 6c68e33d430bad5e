import { checkpointNotFound } from "../failure.ts";
import type { NewSession } from "../port.ts";
import type { Checkpoint } from "../rows/checkpoint.ts";
import { blank, type Session } from "../rows/session.ts";
import { hashesIn } from "../rows/uses.ts";
import { copyUses } from "../sql/uses.ts";
import { addReach, reachedBy } from "./checkpoints.ts";
import type { Database } from "./database.ts";
import { copyRecords, readRecords } from "./journal.ts";
import { insertSession, readSession, updateSession } from "./sessions.ts";

/** Makes a session at a checkpoint of its parent; null: the parent's head. */
export function fork(database: Database, parentId: string, checkpoint: string | null, wanted: NewSession): void {
  database.write(() => {
    const parent = readSession(database, parentId);
    const { reached, at } = upTo(parent, reachedBy(database, parent), checkpoint ?? parent.head);
    const made = { ...blank(wanted), facts: parent.facts, forked_from: at.id, last_seq: at.seq };
    insertSession(database, made);
    for (const { n } of reached) addReach(database, wanted.id, n);
    const records = readRecords(database, parent, 1).filter(({ seq }) => seq <= at.seq);
    const journal_bytes = copyRecords(database, records, wanted.id);
    database.perform(
      copyUses(parentId, wanted.id, hashesIn([records, parent.facts, reached.map((one) => one.extras)])),
    );
    const head = reached.findLast(({ kind }) => kind === "end")?.id ?? null;
    updateSession(database, { ...made, head, journal_bytes, checkpoints: reached.length });
  });
}

function upTo(parent: Session, all: readonly Checkpoint[], wanted: string | null) {
  if (wanted === null) throw checkpointNotFound(`session ${parent.id} has no checkpoint: no exec has ended yet`);
  const index = all.findIndex(({ id }) => id === wanted);
  const at = all[index];
  if (!at) throw checkpointNotFound(`session ${parent.id} has no checkpoint ${wanted}`);
  return { at, reached: all.slice(0, index + 1) };
}
