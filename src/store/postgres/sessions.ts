import { RlmError } from "../../../runtime/errors.ts";
import { firstly } from "../../../runtime/remedies.ts";
import type { DamagedRow, SessionPage, SessionRow } from "../port.ts";
import { damagedAmong } from "../rows/damaged.ts";
import { number, type Row, seal, text, textOrNull } from "../rows/seal.ts";
import { decodeSession, fieldsOf, SESSION_COLUMNS, type Session } from "../rows/session.ts";
import type { Sql } from "./connection.ts";

/** Bytes of the checkpoints and journals of a session and its children. An array lets the server find their rows by index. */
const BYTES = `(SELECT (coalesce((SELECT sum(journal_bytes) FROM sessions WHERE id = ANY(f.ids)), 0)
    + coalesce((SELECT sum(c.stored_bytes + length(c.meta) + length(c.beside)) FROM reach r
      JOIN checkpoints c ON c.n = r.checkpoint WHERE r.session = ANY(f.ids)), 0))::bigint
  FROM (SELECT ARRAY(SELECT family(s.id)) AS ids OFFSET 0) f)`;

/** What the port shows of a session, beside its own row. */
export const SHOWN = `s.*, ${BYTES} AS bytes,
  (EXISTS (SELECT 1 FROM leases l WHERE l.session = s.id AND l.until > clock_timestamp()))::int AS busy`;

/** Rows of sessions but children, the one changed last first. */
export function listedRows(sql: Sql, { after, limit, without = [] }: SessionPage): Promise<Row[]> {
  const behind = after === null ? "" : "AND (changed_at, id) < ($3, $4)";
  const listed = `SELECT id FROM sessions WHERE origin <> 'child' AND id <> ALL($2) ${behind}
    ORDER BY changed_at DESC, id DESC LIMIT $1`;
  const from = after === null ? [] : [after.changed_at, after.id];
  // What the sessions of the page take is summed up, and not what all of them do.
  const shown = `SELECT ${SHOWN} FROM sessions s WHERE id IN (${listed}) ORDER BY changed_at DESC, id DESC`;
  return sql.all(shown, limit, without, ...from);
}

/** Sessions but children whose rows cannot be read. */
export async function damagedSessions(sql: Sql): Promise<DamagedRow[]> {
  const page = `SELECT ${SHOWN} FROM sessions s WHERE origin <> 'child' AND id > $1 ORDER BY id LIMIT $2`;
  const damaged: DamagedRow[] = [];
  for (let last = ""; ; ) {
    const rows = await sql.all(page, last, PAGE);
    damaged.push(...damagedAmong(rows, shownSession, (row) => ({ id: text(row, "id"), label: `session ${row.id}` })));
    const end = rows.at(-1);
    if (!end || rows.length < PAGE) return damaged;
    last = text(end, "id");
  }
}

const PAGE = 500;

/** What messages call a session whose row may be damaged. @throws RlmError `session_not_found` */
export async function labelOf(sql: Sql, id: string): Promise<Pick<Session, "id" | "name">> {
  const row = await sql.get("SELECT name FROM sessions WHERE id = $1", id);
  if (row) return { id, name: textOrNull(row, "name") };
  throw notFound(id);
}

/** @throws RlmError `session_not_found`, `store_corrupt` */
export async function readSession(sql: Sql, id: string): Promise<Session> {
  return decodeSession(await rowOf(sql, id));
}

async function rowOf(sql: Sql, id: string): Promise<Row> {
  const row = await sql.get("SELECT * FROM sessions WHERE id = $1", id);
  if (row) return row;
  throw notFound(id);
}

function notFound(id: string): RlmError {
  return new RlmError("session_not_found", `session ${id} not found`, { suggestion: `${firstly("listSessions")}.` });
}

/** Id of the session that a person means; null if none fits, or more than one. */
export async function findSession(sql: Sql, nameOrId: string): Promise<string | null> {
  const exact = "SELECT id FROM sessions WHERE name = $1 OR id = $1 ORDER BY name = $1 DESC NULLS LAST LIMIT 1";
  const found = await sql.get(exact, nameOrId);
  if (found) return text(found, "id");
  if (nameOrId.length < LEAST_END) return null;
  const ending = "SELECT id FROM sessions WHERE right(id, length($1)) = upper($1) LIMIT 2";
  const [first, ...others] = await sql.all(ending, nameOrId);
  return first && others.length === 0 ? text(first, "id") : null;
}

/** Fewer characters could be meant as a name. */
const LEAST_END = 6;

/** @throws RlmError `session_exists` */
export async function insertSession(sql: Sql, session: Session): Promise<void> {
  const marks = SESSION_COLUMNS.map((_, at) => `$${at + 1}`);
  const { id, name } = session;
  const taken = await sql.get(
    "SELECT id FROM sessions WHERE id = $1 OR name = $2 OR id = $2 OR name = $1 LIMIT 1",
    ...[id, name],
  );
  const added = taken
    ? 0
    : await sql.run(
        `INSERT INTO sessions (${SESSION_COLUMNS.join(", ")}, sha256) VALUES (${marks.join(", ")}, $${marks.length + 1})
          ON CONFLICT DO NOTHING`,
        ...[...fieldsOf(session), seal(fieldsOf(session))],
      );
  if (added === 1) return;
  const suggestion = "Choose another name, or continue the session that has it.";
  throw new RlmError("session_exists", `a session named ${name ?? id} already exists`, { suggestion });
}

/** The session as the port shows it, of a row with the columns of {@link SHOWN}. */
export function shownSession(row: Row): SessionRow {
  const { facts, settings, journal_bytes: _own, checkpoints: _count, ...rest } = decodeSession(row);
  const { pid, host } = row;
  return {
    ...rest,
    facts: JSON.parse(facts),
    settings: JSON.parse(settings),
    holder: typeof pid === "number" && typeof host === "string" ? { pid, host } : null,
    busy: row.busy === 1,
    bytes: number(row, "bytes"),
  };
}
