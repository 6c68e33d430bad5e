import { join } from "node:path";
import { RlmError } from "../../runtime/errors.ts";
import { remedy } from "../../runtime/remedies.ts";
import { sessionLabel } from "../ids.ts";
import { readAnswer } from "./cache.ts";
import { hasCheckpoint, insertCheckpoint, reachedBy, readCheckpoint, shown } from "./checkpoints.ts";
import { commit } from "./commit.ts";
import { hasContext, insertContext, readContext, readIndex } from "./contexts.ts";
import type { Database } from "./database.ts";
import { guarded, misuse } from "./failure.ts";
import { blank, fork } from "./fork.ts";
import { gc, removeSession } from "./gc.ts";
import { readImage } from "./images.ts";
import { readRecords } from "./journal.ts";
import { checkSessionId, type Leases, openFileLeases, openMemoryLeases } from "./lease.ts";
import { LOCKS_FOLDER, openDatabase } from "./open-database.ts";
import { packPages } from "./pages.ts";
import type { NewSession, SessionRow, Store } from "./port.ts";
import {
  describe,
  findSession,
  type Holder,
  holderOf,
  insertSession,
  noteHolder,
  readSession,
  type Session,
  sessionIds,
} from "./sessions.ts";
import { verify } from "./verify.ts";

type Methods = Omit<Store, typeof Symbol.asyncDispose>;

/** The port of the store, answering at once: what runs in the store's thread. */
export type SyncStore = Disposable & {
  readonly [Name in keyof Methods]: Methods[Name] extends (...args: infer Args) => Promise<infer Answer>
    ? (...args: Args) => Answer
    : never;
};

/**
 * Opens the store in a folder, made where it is missing; null: a store in memory. @throws RlmError `store_failed`,
 * `store_corrupt`, `store_too_new`
 */
export function openSqliteStore(folder: string | null, holder: Holder): SyncStore {
  const database = guarded(folder, () => openDatabase(folder));
  const leases = folder === null ? openMemoryLeases() : openFileLeases(join(folder, LOCKS_FOLDER));
  /** Those committed to since their leases were taken. */
  const held = new Map<string, Session>();
  const row = (id: string): SessionRow => describe(database, id, leases.busy(id));
  const guard = <T>(work: () => T): T => guarded(folder, work);
  /** All that is read is of one moment. */
  const reading = <T>(work: () => T): T => guard(() => database.read(work));

  return {
    create: (session) =>
      guard(() => {
        createSession(database, leases, session, holder);
        return database.read(() => row(session.id));
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
        return database.read(() => row(id));
      }),
    release: (id) =>
      guard(() => {
        held.delete(id);
        leases.drop(id);
      }),
    find: (nameOrId) =>
      reading(() => {
        const id = findSession(database, nameOrId);
        return id === null ? null : row(id);
      }),
    list: () => reading(() => sessionIds(database).map(row)),
    commit: (session, step) =>
      guard(() => {
        if (!leases.holds(session)) throw misuse(`session ${session} is written to without its lease`);
        const known = held.get(session);
        // After a failure it is read again.
        held.delete(session);
        held.set(session, commit(database, session, step, known));
      }),
    journal: (session, from = 1) => reading(() => readRecords(database, readSession(database, session), from)),
    checkpoints: (session) => reading(() => reachedBy(database, readSession(database, session)).map(shown)),
    checkpoint: (id) => reading(() => shown(readCheckpoint(database, id))),
    image: (id) => reading(() => readImage(database, id)),
    putBaseline: (id, meta, pages) =>
      guard(() => {
        if (hasCheckpoint(database, id)) return;
        const packed = packPages(pages, meta.linearBytes);
        database.write(() => {
          if (!hasCheckpoint(database, id)) insertCheckpoint(database, { ...BASELINE, id, meta }, packed);
        });
      }),
    hasBaseline: (id) => reading(() => hasCheckpoint(database, id)),
    putContext: (context) => guard(() => database.write(() => insertContext(database, context))),
    context: (hash) => reading(() => readContext(database, hash)),
    contextIndex: (hash) => reading(() => readIndex(database, hash)),
    hasContext: (hash) => reading(() => hasContext(database, hash)),
    cached: (key) => reading(() => readAnswer(database, key)),
    fork: (session, checkpoint, wanted) =>
      guard(() => {
        checkSessionId(wanted.id);
        fork(database, session, checkpoint, wanted);
        return database.read(() => row(wanted.id));
      }),
    remove: (id) =>
      guard(() => {
        if (!leases.holds(id)) takeLease(database, leases, id);
        removeSession(database, id);
        held.delete(id);
        leases.forget(id);
      }),
    gc: (rule) => guard(() => gc(database, leases, rule)),
    verify: () => reading(() => verify(database, leases)),
    [Symbol.dispose]() {
      leases[Symbol.dispose]();
      guard(() => database.close());
    },
  };
}

const BASELINE = {
  session: null,
  parent: null,
  base: null,
  exec_id: null,
  kind: "baseline",
  seq: 0,
  chain: { length: 0, bytes: 0 },
  extras: null,
  at: 0,
} as const;

function createSession(database: Database, leases: Leases, session: NewSession, holder: Holder): void {
  checkSessionId(session.id);
  let taken = false;
  try {
    database.write(() => {
      insertSession(database, blank(session));
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
  throw new RlmError("session_busy", `session ${sessionLabel(readSession(database, id))} is held by ${who}`, {
    suggestion,
  });
}
