import { checkpointLost, checkpointNotFound, corrupt } from "../failure.ts";
import type { CheckpointRow, NewSession, Readable } from "../port.ts";
import { type Checkpoint, decodeCheckpoint, shown } from "../rows/checkpoint.ts";
import { openRoom } from "../rows/pack.ts";
import { blank, checkSessionId, type Session } from "../rows/session.ts";
import { CHECKPOINT } from "./checkpoints.ts";
import { copyUses, hashesIn } from "./contexts.ts";
import { checkRoom, insertRecords, packedRecords, readableRecords, readRecords, wholeRecord } from "./journal.ts";
import { insertSession, readSession } from "./sessions.ts";
import { all, get, oneOf, type Plan, run, spelled, sql, summed } from "./sql.ts";

/**
 * Those that the session reaches and that are whole, the ids of the others, and a line for each
 * mistake in what is reached.
 */
function* readableCheckpoints(session: Session) {
  const { id, checkpoints: count } = session;
  const reached = sql`reach r JOIN checkpoints c ON c.n = r.checkpoint WHERE r.session = ${id}`;
  yield* checkRoom(sql`SELECT ${summed("octet_length(c.meta) + octet_length(c.beside)")} AS bytes FROM ${reached}`, id);
  const rows = yield* all(sql`SELECT ${CHECKPOINT} FROM ${reached} ORDER BY c.n`);
  const room = openRoom();
  const read = rows.map((row) => ({ id: String(row.id), checkpoint: decodeCheckpoint(row, room) }));
  const whole = read.flatMap(({ checkpoint }) => checkpoint ?? []);
  const strangers = yield* strangersAmong(whole, session);
  return {
    checkpoints: whole.filter((one) => !strangers.includes(one)),
    damaged: read.flatMap(({ id, checkpoint }) => (checkpoint ? [] : [id])),
    unfit: [
      ...(rows.length === count ? [] : [`session ${id} has ${rows.length} checkpoints, not ${count}`]),
      ...strangers.map((one) => `session ${id} has checkpoint ${one.id}, which is not its own`),
    ],
  };
}

/**
 * Those that a session neither made nor shares with the one it is a fork of. What it shares is not
 * newer than where it began, and its journal has the record that was kept with it. If that one is
 * damaged, it is named elsewhere.
 */
function* strangersAmong(reached: readonly Checkpoint[], { id, forked_from }: Session): Plan<readonly Checkpoint[]> {
  const others = reached.filter(({ session }) => session !== id);
  if (others.length === 0 || forked_from === null) return others;
  const began = yield* get(sql`SELECT n FROM checkpoints WHERE id = ${forked_from}`);
  const rows = yield* all(
    sql`SELECT * FROM journal WHERE session = ${id} AND seq ${oneOf(others.map(({ seq }) => seq))}`,
  );
  const records = new Map(rows.map((row) => [row.seq, wholeRecord(row, id, Number(row.seq))]));
  return others.filter(({ n, seq, exec_id }) => {
    const record = records.get(seq);
    return n > Number(began?.n ?? n) || (record !== null && record?.exec_id !== exec_id);
  });
}

/**
 * Those that the session reaches, the oldest first.
 *
 * @throws RlmError `store_corrupt`, `checkpoint_lost`
 */
export function* reachedBy(session: Session): Plan<Checkpoint[]> {
  const { checkpoints, unfit, damaged } = yield* readableCheckpoints(session);
  const [wrong] = unfit;
  const [lost] = damaged;
  if (wrong !== undefined) throw corrupt(wrong);
  if (lost !== undefined) throw checkpointLost(lost, "it is damaged");
  return checkpoints;
}

/**
 * Those that a session reaches, the oldest first.
 *
 * @throws RlmError `session_not_found`, `store_corrupt`, `checkpoint_lost`
 */
export function* checkpointsOf(session: string): Plan<CheckpointRow[]> {
  return (yield* reachedBy(yield* readSession(session))).map(shown);
}

/** All of a session that can be read. */
export function* readable(id: string): Plan<Readable> {
  const session = yield* readSession(id);
  const { rows, damaged } = yield* readableRecords(session, 1);
  const found = yield* readableCheckpoints(session);
  const lost = found.damaged.map((one) => `checkpoint ${one} is damaged`);
  return {
    records: rows,
    checkpoints: found.checkpoints.map(shown),
    damaged: [...damaged, ...lost, ...found.unfit],
  };
}

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
