import { corrupt } from "../failure.ts";
import type { JournalRow, StoredRecord } from "../port.ts";
import { type ReadableRecords, recordsIn, sealOfRecord } from "../rows/journal.ts";
import { packText } from "../rows/pack.ts";
import type { Session } from "../rows/session.ts";
import type { Database } from "./database.ts";

/** Writes records after the session's last one; answers the bytes that they take. */
export function appendRecords(database: Database, session: Session, records: readonly StoredRecord[]): number {
  let bytes = 0;
  records.forEach((record, index) => {
    bytes += insertRecord(database, session.id, session.last_seq + 1 + index, JSON.stringify(record), record.record);
  });
  return bytes;
}

/** @throws RlmError `store_corrupt` naming the seq of a record that is missing or damaged */
export function readRecords(database: Database, session: Session, from: number): JournalRow[] {
  const { rows, damaged } = readableRecords(database, session, from);
  const [first] = damaged;
  if (first !== undefined) throw corrupt(first);
  return rows;
}

/** The records that are whole, and a line for each stretch of those that are not. */
export function readableRecords(database: Database, session: Session, from: number): ReadableRecords {
  const stored = database.all("SELECT * FROM journal WHERE session = ? AND seq >= ? ORDER BY seq", session.id, from);
  return recordsIn(stored, session, from);
}

/** Writes records of one session to another; answers the bytes that they take. */
export function copyRecords(database: Database, records: readonly JournalRow[], to: string): number {
  let bytes = 0;
  for (const { seq, record } of records)
    bytes += insertRecord(database, to, seq, JSON.stringify(record), record.record);
  return bytes;
}

function insertRecord(database: Database, session: string, seq: number, content: string, kind: string): number {
  const packed = packText(content);
  const sha256 = sealOfRecord(session, seq, kind, content);
  database.run(
    "INSERT INTO journal (session, seq, kind, content, sha256) VALUES (?, ?, ?, ?, ?)",
    ...[session, seq, kind, packed, sha256],
  );
  return typeof packed === "string" ? Buffer.byteLength(packed) : packed.byteLength;
}
