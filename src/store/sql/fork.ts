import { checkpointNotFound } from "../failure.ts";
import type { NewSession } from "../port.ts";
import type { Checkpoint } from "../rows/checkpoint.ts";
import { blank, checkSessionId, type Session } from "../rows/session.ts";
import { insertRecords, packedRecords, readRecords } from "./journal.ts";
import { reachedBy } from "./reach.ts";
import { insertSession, readSession } from "./sessions.ts";
import { get, oneOf, type Plan, run, spelled, sql } from "./sql.ts";
import { copyUses, hashesIn } from "./uses.ts";

/** Makes a session at a checkpoint of its parent; null: the parent's head. */
export function* fork(parentId: string, checkpoint: string | null, wanted: NewSession): Plan<void> {
  checkSessionId(wanted.id);
  // Until this is over the parent's holder drops no checkpoint that the fork shares.
  yield* get(sql`SELECT id FROM sessions WHERE id = ${parentId} ${spelled(sql``, sql`FOR SHARE`)}`);
  const parent = yield* readSession(parentId);
  const { reached, at } = upTo(parent, yield* reachedBy(parent), checkpoint ?? parent.head);
  const records = (yield* readRecords(parent, 1)).flatMap(({ seq, record }) => (seq <= at.seq ? record : []));
  const { written, bytes } = packedRecords(wanted.id, 1, records);
  yield* insertSession({
    ...blank(wanted),
    facts: parent.facts,
    forked_from: at.id,
    last_seq: at.seq,
    checkpoints: reached.length,
    head: reached.findLast(({ kind }) => kind === "end")?.id ?? null,
    journal_bytes: bytes,
  });
  const numbers = reached.map(({ n }) => n);
  yield* run(sql`INSERT INTO reach (session, checkpoint)
    SELECT ${wanted.id}, n FROM checkpoints WHERE n ${oneOf(numbers)}`);
  yield* insertRecords(written);
  yield* copyUses(parentId, wanted.id, hashesIn([records, parent.facts, reached.map(({ extras }) => extras)]));
}

function upTo(parent: Session, all: readonly Checkpoint[], wanted: string | null) {
  if (wanted === null) throw checkpointNotFound(`session ${parent.id} has no checkpoint: no exec has ended yet`);
  const index = all.findIndex(({ id }) => id === wanted);
  const at = all[index];
  if (!at) throw checkpointNotFound(`session ${parent.id} has no checkpoint ${wanted}`);
  return { at, reached: all.slice(0, index + 1) };
}
