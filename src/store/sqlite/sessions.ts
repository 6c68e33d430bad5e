import type { SessionRow } from "../port.ts";
import { seal } from "../rows/seal.ts";
import { CHANGING, fieldsOf, type Session } from "../rows/session.ts";
import { notFound } from "../sql/sessions.ts";
import type { Database } from "./database.ts";

/** Writes the columns that change in the life of a session. @throws RlmError `session_not_found` */
export function updateSession(database: Database, session: Session): void {
  const fields = CHANGING.map((column) => session[column]);
  const written = database.run(UPDATE, ...fields, seal(fieldsOf(session)), session.id);
  if (written === 0) throw notFound(session.id);
}

/** Notes the process that has the lease. Messages show it; no decision depends on it. */
export function noteHolder(database: Database, id: string, holder: Holder): void {
  database.run("UPDATE sessions SET pid = ?, host = ? WHERE id = ?", holder.pid, holder.host, id);
}

export type Holder = NonNullable<SessionRow["holder"]>;

const UPDATE = `UPDATE sessions SET ${CHANGING.map((column) => `${column} = ?`).join(", ")}, sha256 = ? WHERE id = ?`;
