import type { JournalRow, StoredRecord } from "../port.ts";
import { unpackText } from "./pack.ts";
import { isSealed, type Row, seal, value } from "./seal.ts";
import type { Session } from "./session.ts";

export interface ReadableRecords {
  readonly rows: JournalRow[];
  /** A line for each stretch that is missing or damaged. */
  readonly damaged: string[];
}

/** The records that are whole, and a line for each stretch of those that are not. */
export function recordsIn(stored: readonly Row[], { id, last_seq }: Session, from: number): ReadableRecords {
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

export function sealOfRecord(session: string, seq: number, kind: string, content: string): Buffer {
  return seal([session, seq, kind, content]);
}

/** null if the row is damaged. */
function wholeRecord(row: Row, session: string, seq: number): StoredRecord | null {
  const content = unpackText(row, "content");
  if (content === null || row.session !== session || row.seq !== seq) return null;
  return isSealed(row, [session, seq, value(row, "kind"), content]) ? JSON.parse(content) : null;
}
