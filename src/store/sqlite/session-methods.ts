import { RlmError } from "../../../runtime/errors.ts";
import { remedy } from "../../../runtime/remedies.ts";
import { displayName } from "../../platform/ids.ts";
import { misuse } from "../failure.ts";
import type { Lease, NewSession, SessionRow } from "../port.ts";
import type { Session } from "../rows/session.ts";
import { fork } from "../sql/fork.ts";
import { readable, readJournal } from "../sql/journal.ts";
import {
  createSession,
  damagedSessions,
  findSession,
  type Holder,
  labelOf,
  listSessions,
  noteHolder,
  readSession,
  shownSession,
} from "../sql/sessions.ts";
import { thin } from "../sql/thin.ts";
import { begin } from "../sql/tries.ts";
import type { SyncMethods } from "../thread/methods.ts";
import { dropUnneeded } from "./checkpoints.ts";
import { commit } from "./commit.ts";
import type { Database } from "./database.ts";
import { removeSession } from "./gc.ts";
import { changingAt } from "./jobs/jobs.ts";
import type { Leases } from "./lease.ts";

/** The parts that the methods of the store work with. */
export interface Access {
  readonly database: Database;
  readonly leases: Leases;
  readonly now: () => number;
  /** Errors of SQLite and the file system come out of it as `RlmError`. */
  guard<T>(work: () => T): T;
  /** Runs work as `guard` does. Everything that it reads is of one moment. */
  reading<T>(work: () => T): T;
}

/** The methods of sessions and their journals. */
export function sessionMethods(access: Access, holder: Holder) {
  const { database, leases, guard, reading } = access;
  /** The rows of sessions that were committed to since their leases were taken. */
  const known = new Map<string, Session>();
  const withBusy = (row: SessionRow): SessionRow => ({ ...row, busy: leases.busy(row.id) });
  const shown = (id: string) => withBusy(database.perform(shownSession(id)));
  const leased = (id: string) => ({ ...shown(id), fence: 0 });
  return {
    create: (session) =>
      guard(() => {
        const begun = create(access, session, holder);
        return database.read(() => ({ ...leased(session.id), ...begun }));
      }),
    lease: (id) =>
      guard(() => {
        takeLease(database, leases, id);
        try {
          database.write(() => database.perform(readSession(id)) && database.perform(noteHolder(id, holder)));
        } catch (error) {
          leases.drop(id);
          throw error;
        }
        return database.read(() => leased(id));
      }),
    release: (id) =>
      guard(() => {
        known.delete(id);
        leases.drop(id);
      }),
    find: (nameOrId) =>
      reading(() => {
        const found = database.perform(findSession(nameOrId));
        return found && withBusy(found);
      }),
    list: (page) => reading(() => database.perform(listSessions(page)).map(withBusy)),
    damaged: () => reading(() => database.perform(damagedSessions())),
    commit: (session, step) =>
      guard(() => {
        if (!leases.holds(session)) throw misuse(`session ${session} is written to without its lease`);
        return commit(database, session, step, known);
      }),
    thin: (session, ends) =>
      guard(() => {
        if (!leases.holds(session)) throw misuse(`session ${session} is written to without its lease`);
        known.delete(session);
        return database.write(() => database.perform(thin(session, ends, dropUnneeded))).more;
      }),
    journal: (session, from = 1) => reading(() => database.perform(readJournal(session, from))),
    readable: (session) => reading(() => database.perform(readable(session))),
    fork: (session, checkpoint, wanted) =>
      guard(() => {
        database.write(() => database.perform(fork(session, checkpoint, wanted)));
        return database.read(() => shown(wanted.id));
      }),
    remove: (id, options = {}) =>
      guard(() => {
        const isHeld = leases.holds(id);
        if (!isHeld) takeLease(database, leases, id);
        try {
          for (const gone of removeSession(database, id, options)) {
            known.delete(gone);
            leases.forget(gone);
          }
        } catch (error) {
          if (!isHeld) leases.drop(id);
          throw error;
        }
      }),
  } satisfies Partial<SyncMethods>;
}

/** Makes a session and takes its lease. The try that came with it begins in the same transaction. */
function create({ database, leases, now }: Access, session: NewSession, holder: Holder): Pick<Lease, "begun"> {
  let taken = false;
  const work = () => {
    database.perform(createSession(session, holder));
    taken = leases.take(session.id);
    if (!taken) throw misuse(`the lock of session ${session.id}, which is new, is held`);
    const { begins } = session;
    return begins ? { begun: database.perform(begin(begins, { ...begins, fence: 0 }, changingAt(now()))) } : {};
  };
  return database.write(work, () => taken && leases.forget(session.id));
}

/** @throws RlmError `session_not_found`, `session_busy` */
function takeLease(database: Database, leases: Leases, id: string): void {
  const { holder, ...label } = database.perform(labelOf(id));
  if (leases.take(id)) return;
  const who = holder ? `process ${holder.pid} on ${holder.host}` : "another process";
  const suggestion = `Wait until it is done, or ${remedy("fork")}.`;
  throw new RlmError("session_busy", `session ${displayName(label)} is held by ${who}`, { suggestion });
}
