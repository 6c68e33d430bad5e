import { corrupt } from "../failure.ts";
import type { JournalRow, StoredRecord } from "../port.ts";
import { packText, unpackText } from "../rows/pack.ts";
import { isSealed, type Row, seal, value } from "../rows/seal.ts";
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
export function readableRecords(
  database: Database,
  { id, last_seq }: Session,
  from: number,
): { readonly rows: JournalRow[]; readonly damaged: string[] } {
  const stored = database.all("SELECT * FROM journal WHERE session = ? AND seq >= ? ORDER BY seq", id, from);
  const bySeq = new Map(stored.map((row) => [row.seq, row]));
  const rows: JournalRow[] = [];
  const lost: { first: number; last: number }[] = [];
  for (let seq = Math.max(from, 1); seq <= last_seq; seq++) {
    const row = bySeq.get(seq);
    const record = row && wholeRecord(row, id, seq);
    const stretch = lost.at(-1);
    if (record) rows.push({ seq, record });
    else if (stretch?.last === seq - 1) stretch.last = seq;
    else lost.push({ first: seq, last: seq });
  }
  const damaged = lost.map(({ first, last }) =>
    first === last
      ? `record ${first} of session ${id} is missing or damaged`
      : `records ${first} to ${last} of session ${id} are missing or damaged`,
  );
  const strays = stored.filter((row) => typeof row.seq !== "number" || row.seq > last_seq).length;
  if (strays > 0) damaged.push(`session ${id} has ${strays} records behind its last one`);
  return { rows, damaged };
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

/** null if the row is damaged. */
function wholeRecord(row: Row, session: string, seq: number): StoredRecord | null {
  const content = unpackText(row, "content");
  if (content === null || row.session !== session || row.seq !== seq) return null;
  return isSealed(row, [session, seq, value(row, "kind"), content]) ? JSON.parse(content) : null;
}
