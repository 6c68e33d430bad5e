import { RlmError } from "../../../runtime/errors.ts";
import { remedy } from "../../../runtime/remedies.ts";
import { misuse } from "../failure.ts";
import type { NewSession, Readable, SessionRow } from "../port.ts";
import { shown } from "../rows/checkpoint.ts";
import { damagedAmong } from "../rows/damaged.ts";
import { blank, type Session } from "../rows/session.ts";
import { hashesIn } from "../rows/uses.ts";
import { checkSessionId } from "../session-id.ts";
import { addUses } from "../sql/uses.ts";
import type { SyncMethods } from "../thread/methods.ts";
import { readableCheckpoints } from "./checkpoints.ts";
import { commit } from "./commit.ts";
import type { Database } from "./database.ts";
import { fork } from "./fork.ts";
import { removeSession } from "./gc.ts";
import { readableRecords, readRecords } from "./journal.ts";
import type { Leases } from "./lease.ts";
import {
  ALL,
  describe,
  findSession,
  type Holder,
  holderOf,
  insertSession,
  labelOf,
  listedIds,
  noteHolder,
  readSession,
} from "./sessions.ts";

type SessionMethods = Pick<
  SyncMethods,
  "create" | "lease" | "release" | "find" | "list" | "damaged" | "commit" | "journal" | "readable" | "fork" | "remove"
>;

/** What the methods of the store work with. */
export interface Access {
  readonly database: Database;
  readonly leases: Leases;
  /** What SQLite and the file system throw in it comes out as `RlmError`. */
  guard<T>(work: () => T): T;
  /** Runs work as `guard` does. Everything that it reads is of one moment. */
  reading<T>(work: () => T): T;
}

/** What the store can do with sessions and their journals. */
export function sessionMethods({ database, leases, guard, reading }: Access, holder: Holder): SessionMethods {
  /** The rows of sessions that were committed to since their leases were taken. */
  const known = new Map<string, Session>();
  const row = (id: string): SessionRow => describe(database, id, leases.busy(id));
  const leased = (id: string) => ({ ...row(id), fence: 0 });
  return {
    create: (session) =>
      guard(() => {
        createSession(database, leases, session, holder);
        return database.read(() => leased(session.id));
      }),
    lease: (id) =>
      guard(() => {
        takeLease(database, leases, id);
        try {
          database.write(() => readSession(database, id) && noteHolder(database, id, holder));
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
        const id = findSession(database, nameOrId);
        return id === null ? null : row(id);
      }),
    list: (page) => reading(() => listedIds(database, page).map(row)),
    damaged: () => reading(() => damagedAmong(listedIds(database, ALL), row, (id) => ({ id, label: `session ${id}` }))),
    commit: (session, step) =>
      guard(() => {
        if (!leases.holds(session)) throw misuse(`session ${session} is written to without its lease`);
        const before = known.get(session);
        // After a failure it is read again.
        known.delete(session);
        known.set(session, commit(database, session, step, before));
      }),
    journal: (session, from = 1) => reading(() => readRecords(database, readSession(database, session), from)),
    readable: (session) => reading(() => readable(database, readSession(database, session))),
    fork: (session, checkpoint, wanted) =>
      guard(() => {
        checkSessionId(wanted.id);
        fork(database, session, checkpoint, wanted);
        return database.read(() => row(wanted.id));
      }),
    remove: (id) =>
      guard(() => {
        if (!leases.holds(id)) takeLease(database, leases, id);
        for (const gone of removeSession(database, id)) {
          known.delete(gone);
          leases.forget(gone);
        }
      }),
  };
}

function readable(database: Database, session: Session): Readable {
  const { rows, damaged } = readableRecords(database, session, 1);
  const found = readableCheckpoints(database, session);
  return {
    records: rows,
    checkpoints: found.checkpoints.map(shown),
    damaged: [
      ...damaged,
      ...found.damaged.map((id) => `checkpoint ${id} is damaged`),
      ...(found.miscounted === null ? [] : [found.miscounted]),
    ],
  };
}

function createSession(database: Database, leases: Leases, session: NewSession, holder: Holder): void {
  checkSessionId(session.id);
  let taken = false;
  try {
    database.write(() => {
      insertSession(database, blank(session));
      database.perform(addUses(session.id, hashesIn(session.settings)));
      taken = leases.take(session.id);
      if (!taken) throw misuse(`the lock of session ${session.id}, which is new, is held`);
      noteHolder(database, session.id, holder);
    });
  } catch (error) {
    if (taken) leases.forget(session.id);
    throw error;
  }
}

/** @throws RlmError `session_not_found`, `session_busy` */
function takeLease(database: Database, leases: Leases, id: string): void {
  const holder = holderOf(database, id);
  if (leases.take(id)) return;
  const who = holder ? `process ${holder.pid} on ${holder.host}` : "another process";
  const suggestion = `Wait until it is done, or ${remedy("fork")}.`;
  throw new RlmError("session_busy", `session ${labelOf(database, id)} is held by ${who}`, {
    suggestion,
  });
}
