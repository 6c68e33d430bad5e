import { RlmError } from "../../../runtime/errors.ts";
import { remedy } from "../../../runtime/remedies.ts";
import { displayName } from "../../platform/ids.ts";
import { misuse } from "../failure.ts";
import type { Session } from "../rows/session.ts";
import { removeSession } from "../sql/gc.ts";
import type { Own } from "../sql/planned.ts";
import { createSession, type Holder, labelOf, noteHolder, readSession, shownSession } from "../sql/sessions.ts";
import { thin } from "../sql/thin.ts";
import { begin } from "../sql/tries.ts";
import type { SyncMethods } from "../thread/methods.ts";
import { commit } from "./commit.ts";
import type { Database } from "./database.ts";
import { giveBack } from "./gc.ts";
import type { Leases } from "./lease.ts";

/**
 * The methods of sessions that take leases or need them.
 * @param own the side of the file in plans that begin now
 */
export function sessionMethods(database: Database, leases: Leases, own: () => Own, holder: Holder) {
  /** The rows of sessions that were committed to since their leases were taken. */
  const known = new Map<string, Session>();
  const leased = (id: string) => ({ ...database.perform(shownSession(id, own())), fence: 0 });
  const checkHeld = (id: string) => {
    if (!leases.holds(id)) throw misuse(`session ${id} is written to without its lease`);
  };
  return {
    create(session) {
      let taken = false;
      const work = () => {
        database.perform(createSession(session, holder));
        taken = leases.take(session.id);
        if (!taken) throw misuse(`the lock of session ${session.id}, which is new, is held`);
        const { begins } = session;
        return begins ? { begun: database.perform(begin(begins, { ...begins, fence: 0 }, own())) } : {};
      };
      const begun = database.write(work, () => taken && leases.forget(session.id));
      return database.read(() => ({ ...leased(session.id), ...begun }));
    },
    lease(id) {
      takeLease(database, leases, id);
      try {
        database.write(() => database.perform(readSession(id)) && database.perform(noteHolder(id, holder)));
      } catch (error) {
        leases.drop(id);
        throw error;
      }
      return database.read(() => leased(id));
    },
    release(id) {
      known.delete(id);
      leases.drop(id);
    },
    commit(session, step) {
      checkHeld(session);
      return commit(database, session, step, known);
    },
    thin: (session, ends) => {
      checkHeld(session);
      known.delete(session);
      return database.write(() => database.perform(thin(session, ends, own()))).more;
    },
    remove(id, options = {}) {
      const isHeld = leases.holds(id);
      if (!isHeld) takeLease(database, leases, id);
      try {
        const gone = database.write(() => database.perform(removeSession(id, options, own())));
        giveBack(database);
        for (const one of gone) {
          known.delete(one);
          leases.forget(one);
        }
      } catch (error) {
        if (!isHeld) leases.drop(id);
        throw error;
      }
    },
  } satisfies Partial<SyncMethods>;
}

/** @throws RlmError `session_not_found`, `session_busy` */
function takeLease(database: Database, leases: Leases, id: string): void {
  const { holder, ...label } = database.perform(labelOf(id));
  if (leases.take(id)) return;
  const who = holder ? `process ${holder.pid} on ${holder.host}` : "another process";
  const suggestion = `Wait until it is done, or ${remedy("fork")}.`;
  throw new RlmError("session_busy", `session ${displayName(label)} is held by ${who}`, { suggestion });
}
