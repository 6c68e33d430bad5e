import { RlmError } from "../../../runtime/errors.ts";
import { firstly } from "../../../runtime/remedies.ts";
import { displayName } from "../../platform/ids.ts";
import type { SessionPage, SessionRow } from "../port.ts";
import { number, type Row, seal, text, textOrNull } from "../rows/seal.ts";
import { CHANGING, decodeSession, fieldsOf, SESSION_COLUMNS, type Session } from "../rows/session.ts";
import type { Database } from "./database.ts";

/** @throws RlmError `session_not_found`, `store_corrupt` */
export function readSession(database: Database, id: string): Session {
  return decodeSession(rowOf(database, id));
}

/** Id of the session that a person means; null if none fits, or more than one. */
export function findSession(database: Database, nameOrId: string): string | null {
  const exact =
    database.get("SELECT id FROM sessions WHERE name = ?", nameOrId) ??
    database.get("SELECT id FROM sessions WHERE id = ?", nameOrId);
  if (exact) return text(exact, "id");
  if (nameOrId.length < LEAST_END) return null;
  const ending = "SELECT id FROM sessions WHERE substr(id, -length(?)) = upper(?) LIMIT 2";
  const [first, ...others] = database.all(ending, nameOrId, nameOrId);
  return first && others.length === 0 ? text(first, "id") : null;
}

/** Fewer characters could be meant as a name. */
const LEAST_END = 6;

/** A page of every session. SQLite takes a negative limit for none. */
export const ALL: SessionPage = { after: null, limit: -1 };

/** Ids of sessions but children, the one changed last first. */
export function listedIds(database: Database, { after, limit, without = [] }: SessionPage): string[] {
  const behind = after === null ? "" : "AND (changed_at, id) < (?, ?)";
  const listed = `SELECT id FROM sessions WHERE origin <> 'child' AND id NOT IN (SELECT value FROM json_each(?)) ${behind}
    ORDER BY changed_at DESC, id DESC LIMIT ?`;
  const from = after === null ? [] : [after.changed_at, after.id];
  return database.all(listed, JSON.stringify(without), ...from, limit).map((row) => text(row, "id"));
}

export function sessionIds(database: Database): string[] {
  return database.all("SELECT id FROM sessions ORDER BY changed_at DESC, id DESC").map((row) => text(row, "id"));
}

/** Ids of a session, its children, theirs and so on. */
export function familyOf(database: Database, id: string): string[] {
  return database.all(`${FAMILY} SELECT id FROM family`, id).map((row) => text(row, "id"));
}

/** A child's name begins with the id of its parent and a dot; the character after the dot is the slash. */
const FAMILY = `WITH RECURSIVE family (id) AS (
  SELECT ? UNION SELECT sessions.id FROM family JOIN sessions
  ON name > family.id || '.' AND name < family.id || '/' AND origin = 'child')`;

/** @throws RlmError `session_exists` */
export function insertSession(database: Database, session: Session): void {
  const taken = "SELECT id FROM sessions WHERE id = ? OR name = ? OR id = ? OR name = ?";
  const { id, name } = session;
  if (database.get(taken, id, name, name, id)) {
    const suggestion = "Choose another name, or continue the session that has it.";
    throw new RlmError("session_exists", `a session named ${name ?? id} already exists`, { suggestion });
  }
  const marks = SESSION_COLUMNS.map(() => "?").join(", ");
  database.run(
    `INSERT INTO sessions (${SESSION_COLUMNS.join(", ")}, sha256) VALUES (${marks}, ?)`,
    ...fieldsOf(session),
    seal(fieldsOf(session)),
  );
}

/** Writes what changes in the life of a session. @throws RlmError `session_not_found` */
export function updateSession(database: Database, session: Session): void {
  const fields = CHANGING.map((column) => session[column]);
  const written = database.run(UPDATE, ...fields, seal(fieldsOf(session)), session.id);
  if (written === 0) throw notFound(session.id);
}

/** What messages call a session whose row may be damaged. @throws RlmError `session_not_found` */
export function labelOf(database: Database, id: string): string {
  const row = database.get("SELECT name FROM sessions WHERE id = ?", id);
  if (!row) throw notFound(id);
  return displayName({ id, name: textOrNull(row, "name") });
}

/** Notes the process that has the lease. Messages show it; no decision depends on it. */
export function noteHolder(database: Database, id: string, holder: Holder): void {
  database.run("UPDATE sessions SET pid = ?, host = ? WHERE id = ?", holder.pid, holder.host, id);
}

export type Holder = NonNullable<SessionRow["holder"]>;

export function holderOf(database: Database, id: string): SessionRow["holder"] {
  const { pid, host } = rowOf(database, id);
  return typeof pid === "number" && typeof host === "string" ? { pid, host } : null;
}

/** The session as the port shows it. */
export function describe(database: Database, id: string, busy: boolean): SessionRow {
  const { facts, settings, journal_bytes: _own, checkpoints, ...rest } = readSession(database, id);
  const sum = `${FAMILY} SELECT
    (SELECT sum(journal_bytes) FROM sessions WHERE id IN (SELECT id FROM family)) +
    (SELECT coalesce(sum(stored_bytes + octet_length(meta) + octet_length(beside)), 0)
      FROM reach JOIN checkpoints ON n = checkpoint WHERE reach.session IN (SELECT id FROM family)) AS bytes`;
  const stored = database.get(sum, id);
  return {
    ...rest,
    facts: JSON.parse(facts),
    settings: JSON.parse(settings),
    holder: holderOf(database, id),
    busy,
    bytes: stored ? number(stored, "bytes") : 0,
  };
}

const UPDATE = `UPDATE sessions SET ${CHANGING.map((column) => `${column} = ?`).join(", ")}, sha256 = ? WHERE id = ?`;

function rowOf(database: Database, id: string): Row {
  const row = database.get("SELECT * FROM sessions WHERE id = ?", id);
  if (row) return row;
  throw notFound(id);
}

function notFound(id: string): RlmError {
  return new RlmError("session_not_found", `session ${id} not found`, {
    suggestion: `${firstly("listSessions")}.`,
  });
}
