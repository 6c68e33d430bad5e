import { RlmError } from "../../../runtime/errors.ts";
import type { Json } from "../../../runtime/index.ts";
import { corrupt, misuse } from "../failure.ts";
import type { NewSession, SessionRow, Step } from "../port.ts";
import { jsonIn } from "./forms.ts";
import { capped, SESSION_BOUNDS } from "./pack.ts";
import {
  anyColumn,
  columnsOf,
  countColumn,
  instantColumn,
  isSealed,
  nameColumnOrNull,
  type Row,
  textColumn,
  textColumnOrNull,
  wordColumn,
} from "./row.ts";

/** A row of `sessions` but its holder, which changes without it. JSON is still text. */
export interface Session extends Omit<SessionRow, "facts" | "settings" | "holder" | "busy" | "bytes" | "text_bytes"> {
  /** The number of checkpoints that the session reaches. */
  readonly checkpoints: number;
  /** Bytes that its records take. */
  readonly journal_bytes: number;
  readonly facts: string;
  readonly settings: string;
}

/** A session in which nothing has happened yet. */
export function blank({ id, name, origin, settings, at }: NewSession): Session {
  return {
    id,
    name,
    origin,
    created_at: at,
    changed_at: at,
    settings: JSON.stringify(settings),
    head: null,
    last_seq: 0,
    checkpoints: 0,
    journal_bytes: 0,
    facts: "null",
    forked_from: null,
  };
}

/** Writing the other columns would also write to the index by name. */
export const CHANGING = [
  ...(["changed_at", "head", "last_seq", "checkpoints", "journal_bytes", "facts", "settings"] as const),
];
export const SESSION_COLUMNS = ["id", "name", "origin", "created_at", ...CHANGING, "forked_from"] as const;

/**
 * All of a session but what a database adds. Facts and settings that are larger than they can be
 * are not fetched.
 */
export const SHOWN_SESSION = [...SESSION_COLUMNS, "sha256", "pid", "host"]
  .map((column) => (column === "facts" || column === "settings" ? capped(column, SESSION_BOUNDS.bytes) : column))
  .join(", ");

/** The fields under the seal of the row. */
export function fieldsOf(session: Session) {
  return SESSION_COLUMNS.map((column) => session[column]);
}

/** @throws RlmError `store_corrupt` */
export function decodeSession(row: Row): Session {
  const sealed = isSealed(
    row,
    SESSION_COLUMNS.map((column) => anyColumn(row, column)),
  );
  const facts = jsonIn(row, "facts", "any", SESSION_BOUNDS);
  const settings = jsonIn(row, "settings", "any", SESSION_BOUNDS);
  if (!sealed || !facts || !settings || !SESSION_ID.test(String(row.id)))
    throw corrupt(`the row of session ${String(row.id)} is damaged`);
  return { ...columnsOf(row, SESSION, `session ${String(row.id)}`), facts: facts.text, settings: settings.text };
}

const ORIGINS = [
  ...(["batch", "child", "command", "library", "mcp", "pi"] as const),
] satisfies readonly NewSession["origin"][];

const SESSION = {
  id: textColumn,
  name: nameColumnOrNull,
  origin: wordColumn("a session", ORIGINS),
  created_at: instantColumn,
  changed_at: instantColumn,
  head: textColumnOrNull,
  last_seq: countColumn,
  checkpoints: countColumn,
  journal_bytes: countColumn,
  forked_from: textColumnOrNull,
};

/**
 * The session after a step.
 * @param bytes those of its records
 * @param gone the number of checkpoints that it takes from the session
 * @throws RlmError `store_failed` if it drops the session's head
 */
export function afterStep(session: Session, step: Step, bytes: number, gone: number): Session {
  const { checkpoint, records = [], drop = [], cache = [], facts, settings } = step;
  const head = checkpoint?.kind === "end" ? checkpoint.id : session.head;
  if (head !== null && drop.includes(head)) throw misuse(`${head} is the head of session ${session.id}`);
  return {
    ...session,
    head,
    last_seq: session.last_seq + records.length,
    checkpoints: session.checkpoints + (checkpoint ? 1 : 0) - gone,
    journal_bytes: session.journal_bytes + bytes,
    facts: facts === undefined ? session.facts : JSON.stringify(facts),
    settings: settings === undefined ? session.settings : JSON.stringify(settings),
    // When the step says that it was made: the store has no clock.
    changed_at: records.at(-1)?.at ?? checkpoint?.at ?? cache.at(-1)?.at ?? session.changed_at,
  };
}

/** True if the session says that an exec has begun and not ended. */
export function isRunning(facts: Json): boolean {
  return typeof facts === "object" && facts !== null && Reflect.get(facts, "status") === "running";
}

const SESSION_ID = /^[0-9A-Za-z-]{1,64}$/;

/** Ids become names of files, so they are looked at first. @throws RlmError `invalid_argument` */
export function checkSessionId(id: string): void {
  if (SESSION_ID.test(id)) return;
  const suggestion = "Session ids are ULIDs: 1 to 64 letters, digits and hyphens.";
  throw new RlmError("invalid_argument", `${JSON.stringify(id)} is not a valid session id`, { suggestion });
}
