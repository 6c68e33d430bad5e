import { RlmError } from "../../../runtime/errors.ts";
import { firstly } from "../../../runtime/remedies.ts";
import type { DamagedRow } from "../job-store.ts";
import type { NewSession, SessionPage, SessionRow } from "../port.ts";
import { damagedAmong, numberColumn, type Row, seal, textColumn, textColumnOrNull } from "../rows/row.ts";
import {
  blank,
  checkSessionId,
  decodeSession,
  fieldsOf,
  SESSION_COLUMNS,
  type Session,
  SHOWN_SESSION,
} from "../rows/session.ts";
import { addUses, EACH_PART, hashesIn, PARTS } from "./contexts.ts";
import type { Dialect } from "./dialect.ts";
import {
  all,
  get,
  list,
  oneOf,
  type Plan,
  raw,
  run,
  type Spelled,
  type Statement,
  spelled,
  sql,
  summed,
} from "./sql.ts";

/** @throws RlmError `session_not_found`, `store_corrupt` */
export function* readSession(id: string): Plan<Session> {
  const row = yield* get(sql`SELECT ${raw(SHOWN_SESSION)} FROM sessions WHERE id = ${id}`);
  if (row) return decodeSession(row);
  throw notFound(id);
}

/** Makes a session in which nothing has happened yet, and returns its row. @throws RlmError `session_exists` */
export function* createSession(session: NewSession, holder: Holder): Plan<Session> {
  checkSessionId(session.id);
  const made = blank(session);
  yield* insertSession(made);
  yield* addUses(made.id, hashesIn(session.settings));
  yield* noteHolder(made.id, holder);
  return made;
}

export type Holder = NonNullable<SessionRow["holder"]>;

/** Notes the process that has the lease. Messages show it; no decision depends on it. */
export function* noteHolder(id: string, { pid, host }: Holder): Plan<void> {
  yield* run(sql`UPDATE sessions SET pid = ${pid}, host = ${host} WHERE id = ${id}`);
}

/** @throws RlmError `session_exists` */
export function* insertSession(session: Session): Plan<void> {
  const { id, name } = session;
  const taken = yield* get(sql`SELECT id FROM sessions
    WHERE id = ${id} OR name = ${name} OR id = ${name} OR name = ${id} LIMIT 1`);
  const fields = fieldsOf(session);
  const added = taken
    ? 0
    : yield* run(sql`INSERT INTO sessions (${raw(SESSION_COLUMNS.join(", "))}, sha256)
        VALUES (${list(fields)}, ${seal(fields)}) ON CONFLICT DO NOTHING`);
  if (added === 1) return;
  const suggestion = "Choose another name, or continue the session that has it.";
  throw new RlmError("session_exists", `a session named ${name ?? id} already exists`, { suggestion });
}

/** A session as messages name it, whose row may be damaged. @throws RlmError `session_not_found` */
export function* labelOf(id: string): Plan<Pick<SessionRow, "id" | "name" | "holder">> {
  const row = yield* get(sql`SELECT name, pid, host FROM sessions WHERE id = ${id}`);
  if (row) return { id, name: textColumnOrNull(row, "name"), holder: holderIn(row) };
  throw notFound(id);
}

type Looking = Pick<Dialect, "busy">;

/** The session that a person means; null if none fits, or more than one. */
export function* findSession(nameOrId: string, own: Looking): Plan<SessionRow | null> {
  const exact = yield* get(sql`SELECT id FROM sessions WHERE name = ${nameOrId} OR id = ${nameOrId}
    ORDER BY name = ${nameOrId} DESC NULLS LAST LIMIT 1`);
  const ending = sql`SELECT id FROM sessions WHERE substr(id, length(id) - ${nameOrId.length - 1}) = upper(${nameOrId}) LIMIT 2`;
  const found = exact ? [exact] : nameOrId.length < LEAST_END ? [] : yield* all(ending);
  const [first, ...others] = found;
  return first && others.length === 0 ? yield* shownSession(textColumn(first, "id"), own) : null;
}

/** Fewer characters could be meant as a name. */
const LEAST_END = 6;

/** True if a lease of the session `s` runs. Leases of a store in a folder are locks of files. */
export const BUSY: Spelled = spelled(
  sql`0`,
  sql`(EXISTS (SELECT 1 FROM leases l WHERE l.session = s.id AND l.until > clock_timestamp()))::int`,
);

/** Ids of a session, its children, theirs and so on. */
export function* familyOf(id: string): Plan<string[]> {
  const rows = yield* all(
    sql`${spelled(sql`${familyFrom(sql`${id}`)} SELECT id FROM family`, sql`SELECT family(${id}) AS id`)}`,
  );
  return rows.map((row) => textColumn(row, "id"));
}

/**
 * For a file. A child's name begins with the id of its parent and a dot; the character after the
 * dot is the slash. The plus keeps SQLite from indexing all sessions by their origin.
 */
const familyFrom = (id: Statement) => sql`WITH RECURSIVE family (id) AS (SELECT ${id} UNION SELECT c.id FROM family f
  JOIN sessions c ON c.name > f.id || '.' AND c.name < f.id || '/' AND +c.origin = 'child')`;

/** Bytes of a checkpoint `c`. */
export const CHECKPOINT_BYTES =
  "(CAST(c.stored_bytes AS double precision) + octet_length(c.meta) + octet_length(c.beside))";

/** Bytes of what these sessions reach. A part of a context counts once, by its text. */
const bytesOf = (these: Statement, partsOfContexts: Statement) => sql`
  (SELECT ${summed("journal_bytes")} FROM sessions WHERE id ${these})
  + (SELECT ${summed(CHECKPOINT_BYTES)} FROM reach r JOIN checkpoints c ON c.n = r.checkpoint WHERE r.session ${these})
  + (SELECT ${summed("octet_length(facts)")} FROM contexts WHERE hash IN (SELECT hash FROM uses WHERE session ${these}))
  + (SELECT ${summed("bytes")} FROM parts WHERE hash IN (${partsOfContexts}
    WHERE contexts.hash IN (SELECT hash FROM uses WHERE session ${these})))`;

/** Bytes of a session and its children. An array lets a server find their rows by index. */
const BYTES = spelled(
  sql`(${familyFrom(sql`s.id`)} SELECT ${bytesOf(
    sql`IN (SELECT id FROM family)`,
    sql`SELECT value FROM contexts, ${EACH_PART}`,
  )})`,
  sql`(SELECT ${bytesOf(
    sql`= ANY(f.ids)`,
    sql`SELECT found[1] FROM contexts, regexp_matches(${PARTS}, '[0-9a-f]{64}', 'g') AS found`,
  )} FROM (SELECT ARRAY(SELECT family(s.id)) AS ids OFFSET 0) f)`,
);

/** Bytes of files of large contexts of a session and its children. */
const TEXT_BYTES = spelled(
  sql`(${familyFrom(sql`s.id`)} SELECT ${summed("bytes")} FROM texts WHERE name IN (
    SELECT value FROM contexts, ${EACH_PART}
    WHERE contexts.hash IN (SELECT hash FROM uses WHERE session IN (SELECT id FROM family))))`,
  sql`0`,
);

const SHOWN = sql`SELECT ${raw(SHOWN_SESSION)}, ${BYTES} AS bytes, ${TEXT_BYTES} AS text_bytes, ${BUSY} AS busy FROM sessions s`;

/** @throws RlmError `session_not_found`, `store_corrupt` */
export function* shownSession(id: string, own: Looking): Plan<SessionRow> {
  const row = yield* get(sql`${SHOWN} WHERE id = ${id}`);
  if (row) return shownIn(row, own);
  throw notFound(id);
}

/** A session that was just made, as `shownSession` shows it: one that uses no context takes no bytes. */
export function* madeSession(made: Session, holder: Holder, own: Looking): Plan<SessionRow> {
  if (hashesIn(made.settings).size > 0) return yield* shownSession(made.id, own);
  return { ...rowOf(made), holder, busy: true, bytes: 0, text_bytes: 0 };
}

/** Sessions but children, the one changed last first. */
export function* listSessions(page: SessionPage, own: Looking): Plan<SessionRow[]> {
  // Sizes are summed up for the sessions of the page alone.
  const rows = yield* all(sql`${SHOWN} WHERE id IN (${listed(page)}) ORDER BY changed_at DESC, id DESC`);
  return rows.map((row) => shownIn(row, own));
}

function listed({ after, limit, without = [] }: SessionPage): Statement {
  const behind = after === null ? sql`` : sql`AND (changed_at, id) < (${after.changed_at}, ${after.id})`;
  return sql`SELECT id FROM sessions WHERE origin <> 'child' AND NOT (id ${oneOf(without)}) ${behind}
    ORDER BY changed_at DESC, id DESC LIMIT ${limit}`;
}

/** Sessions but children whose rows cannot be read. */
export function* damagedSessions(own: Looking): Plan<DamagedRow[]> {
  const damaged: DamagedRow[] = [];
  for (let last = ""; ; ) {
    const rows = yield* all(sql`${SHOWN} WHERE origin <> 'child' AND id > ${last} ORDER BY id LIMIT ${PAGE}`);
    const named = (row: Row) => ({ id: textColumn(row, "id"), label: `session ${row.id}` });
    damaged.push(...damagedAmong(rows, (row) => shownIn(row, own), named));
    const end = rows.at(-1);
    if (!end || rows.length < PAGE) return damaged;
    last = textColumn(end, "id");
  }
}

const PAGE = 500;

/** The session as the port shows it, of a row with the columns of {@link SHOWN}. */
function shownIn(row: Row, own: Looking): SessionRow {
  return {
    ...rowOf(decodeSession(row)),
    holder: holderIn(row),
    busy: own.busy(row),
    bytes: numberColumn(row, "bytes"),
    text_bytes: numberColumn(row, "text_bytes"),
  };
}

function rowOf({ facts, settings, journal_bytes: _own, checkpoints: _count, ...rest }: Session) {
  return { ...rest, facts: JSON.parse(facts), settings: JSON.parse(settings) };
}

export function holderIn({ pid, host }: Row): SessionRow["holder"] {
  return typeof pid === "number" && typeof host === "string" ? { pid, host } : null;
}

export function notFound(id: string): RlmError {
  return new RlmError("session_not_found", `session ${id} not found`, { suggestion: `${firstly("listSessions")}.` });
}
