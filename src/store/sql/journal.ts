import { megabytes } from "../../platform/figures.ts";
import { isRecord } from "../../platform/json.ts";
import { corrupt } from "../failure.ts";
import type { JournalRow, StoredRecord } from "../port.ts";
import { jsonIn, RECORDS } from "../rows/forms.ts";
import { openRoom, type Room, USUAL_BOUNDS } from "../rows/pack.ts";
import { anyColumn, isSealed, type Row, seal } from "../rows/row.ts";
import type { Session } from "../rows/session.ts";
import { readSession } from "./sessions.ts";
import { all, get, type Packed, type Plan, packed, pause, run, type Statement, sql, summed } from "./sql.ts";

/**
 * The records of a session.
 *
 * @throws RlmError `store_corrupt` naming one that is missing or damaged
 */
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

/** The records that are whole, and a line for each stretch that is missing or damaged. */
export function* readableRecords({ id, last_seq }: Session, from: number) {
  const which = sql`journal WHERE session = ${id} AND seq >= ${from}`;
  yield* checkRoom(sql`SELECT ${summed("octet_length(content)")} AS bytes FROM ${which}`, id);
  const stored = yield* all(sql`SELECT * FROM ${which} ORDER BY seq`);
  const room = openRoom();
  const rows: JournalRow[] = [];
  const lost: { first: number; last: number }[] = [];
  let next = Math.max(from, 1);
  for (const [index, row] of stored.entries()) {
    if (index % RECORDS_OF_A_TURN === 0) yield* pause();
    const { seq } = row;
    if (typeof seq !== "number" || seq < next || seq > last_seq) continue;
    const record = wholeRecord(row, id, seq, room);
    if (!record) continue;
    if (seq > next) lost.push({ first: next, last: seq - 1 });
    rows.push({ seq, record });
    next = seq + 1;
  }
  if (next <= last_seq) lost.push({ first: next, last: last_seq });
  const damaged = lost.map(({ first, last }) =>
    first === last
      ? `record ${first} of session ${id} is missing or damaged`
      : `records ${first} to ${last} of session ${id} are missing or damaged`,
  );
  const strays = stored.filter((row) => typeof row.seq !== "number" || row.seq > last_seq).length;
  if (strays > 0) damaged.push(`session ${id} has ${strays} records behind its last one`);
  return { rows, damaged };
}

/** Records that are read between two turns of other work. */
const RECORDS_OF_A_TURN = 8;

/** A row of the journal as it is written. */
interface WrittenRecord {
  readonly session: string;
  readonly seq: number;
  readonly kind: string;
  readonly content: Packed;
  readonly sha256: Uint8Array;
}

/**
 * Records of a session as they are written, and the bytes that they take.
 *
 * @param from the seq of the first one
 */
export function packedRecords(
  session: string,
  from: number,
  records: readonly StoredRecord[],
): { readonly written: readonly WrittenRecord[]; readonly bytes: number } {
  const written = records.map((record, index) => {
    const seq = from + index;
    const kind = record.record;
    const content = JSON.stringify(record);
    return { session, seq, kind, content: packed(content), sha256: seal([session, seq, kind, content]) };
  });
  return { written, bytes: written.reduce((sum, { content }) => sum + Buffer.byteLength(content.packed), 0) };
}

export function* insertRecords(written: readonly WrittenRecord[]): Plan<void> {
  for (const { session, seq, kind, content, sha256 } of written) {
    yield* run(sql`INSERT INTO journal (session, seq, kind, content, sha256)
      VALUES (${session}, ${seq}, ${kind}, ${content}, ${sha256})`);
  }
}

/** @throws RlmError `store_corrupt` if rows of a session take more than is read at once */
export function* checkRoom(sum: Statement, session: string): Plan<void> {
  const bytes = Number((yield* get(sum))?.bytes);
  if (bytes > openRoom().bytes)
    throw corrupt(`session ${session} has rows of ${megabytes(bytes)}, more than can be read`);
}

/**
 * null if the row is damaged, or not a record of its kind.
 *
 * @param room for all that are read with it
 */
export function wholeRecord(row: Row, session: string, seq: number, room?: Room): StoredRecord | null {
  const kind = anyColumn(row, "kind");
  const form = RECORDS.get(String(kind));
  const content = form && jsonIn(row, "content", form, USUAL_BOUNDS, room);
  if (!content || row.session !== session || row.seq !== seq) return null;
  const record = content.value;
  return isStored(record) && record.record === kind && isSealed(row, [session, seq, kind, content.text])
    ? record
    : null;
}

const isStored = (record: unknown): record is StoredRecord => isRecord(record) && typeof record.record === "string";
