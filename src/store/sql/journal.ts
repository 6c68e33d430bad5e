import { corrupt } from "../failure.ts";
import type { JournalRow, Readable, StoredRecord } from "../port.ts";
import { shown } from "../rows/checkpoint.ts";
import { type ReadableRecords, recordsIn, sealOfRecord } from "../rows/journal.ts";
import type { Session } from "../rows/session.ts";
import { readableCheckpoints } from "./checkpoints.ts";
import { readSession } from "./sessions.ts";
import { all, type Plan, packed, run, sql } from "./sql.ts";

/** The records of a session. @throws RlmError `store_corrupt` naming one that is missing or damaged */
export function* readJournal(id: string, from: number): Plan<JournalRow[]> {
  return yield* readRecords(yield* readSession(id), from);
}

/** @throws RlmError `store_corrupt` naming the seq of a record that is missing or damaged */
export function* readRecords(session: Session, from: number): Plan<JournalRow[]> {
  const { rows, damaged } = yield* readableRecords(session, from);
  const [first] = damaged;
  if (first !== undefined) throw corrupt(first);
  return rows;
}

/** The records that are whole, and a line for each stretch of those that are not. */
export function* readableRecords(session: Session, from: number): Plan<ReadableRecords> {
  const stored = yield* all(sql`SELECT * FROM journal WHERE session = ${session.id} AND seq >= ${from} ORDER BY seq`);
  return recordsIn(stored, session, from);
}

/** All of a session that can be read. */
export function* readable(id: string): Plan<Readable> {
  const session = yield* readSession(id);
  const { rows, damaged } = yield* readableRecords(session, 1);
  const found = yield* readableCheckpoints(session);
  return {
    records: rows,
    checkpoints: found.checkpoints.map(shown),
    damaged: [
      ...damaged,
      ...found.damaged.map((one) => `checkpoint ${one} is damaged`),
      ...(found.miscounted === null ? [] : [found.miscounted]),
    ],
  };
}

/** Records of a session as they are written, and the bytes that they take. @param from the seq of the first one */
export function packedRecords(session: string, from: number, records: readonly StoredRecord[]) {
  const written = records.map((record, index) => {
    const [seq, kind, content] = [from + index, record.record, JSON.stringify(record)];
    return { session, seq, kind, content: packed(content), sha256: sealOfRecord(session, seq, kind, content) };
  });
  return { written, bytes: written.reduce((sum, { content }) => sum + Buffer.byteLength(content.packed), 0) };
}

export function* insertRecords(written: ReturnType<typeof packedRecords>["written"]): Plan<void> {
  for (const { session, seq, kind, content, sha256 } of written) {
    yield* run(sql`INSERT INTO journal (session, seq, kind, content, sha256)
      VALUES (${session}, ${seq}, ${kind}, ${content}, ${sha256})`);
  }
}
