import type { Database } from "./database.ts";
import { corrupt } from "./failure.ts";
import { packText, unpackText } from "./pack.ts";
import type { JournalRow, StoredRecord } from "./port.ts";
import { isSealed, number, type Row, seal, value } from "./seal.ts";
import type { Session } from "./sessions.ts";

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
  const rows = database.all("SELECT * FROM journal WHERE session = ? AND seq >= ? ORDER BY seq", session.id, from);
  const first = Math.max(from, 1);
  const read = rows.map((row, index) => {
    const record: StoredRecord = JSON.parse(verified(row, session.id, first + index));
    return { seq: first + index, record };
  });
  const expected = Math.max(session.last_seq - first + 1, 0);
  if (read.length === expected) return read;
  throw corrupt(`session ${session.id} has ${read.length} records from ${first} on, not ${expected}`);
}

/** Copies the records up to `last` to another session; answers the bytes that they take. */
export function copyRecords(database: Database, from: Session, to: string, last: number): number {
  let bytes = 0;
  for (const { seq, record } of readRecords(database, from, 1)) {
    if (seq <= last) bytes += insertRecord(database, to, seq, JSON.stringify(record), record.record);
  }
  return bytes;
}

function insertRecord(database: Database, session: string, seq: number, content: string, kind: string): number {
  const packed = packText(content);
  const sha256 = seal([session, seq, kind, content]);
  database.run(
    "INSERT INTO journal (session, seq, kind, content, sha256) VALUES (?, ?, ?, ?, ?)",
    ...[session, seq, kind, packed, sha256],
  );
  return typeof packed === "string" ? Buffer.byteLength(packed) : packed.byteLength;
}

function verified(row: Row, session: string, seq: number): string {
  const content = unpackText(row, "content");
  const whole =
    content !== null && isSealed(row, [value(row, "session"), value(row, "seq"), value(row, "kind"), content]);
  if (whole && row.session === session && number(row, "seq") === seq) return content;
  throw corrupt(`record ${seq} of session ${session} is missing or damaged`);
}
