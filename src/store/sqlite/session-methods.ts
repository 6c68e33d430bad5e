import { RlmError } from "../../../runtime/errors.ts";
import { remedy } from "../../../runtime/remedies.ts";
import { displayName } from "../../platform/ids.ts";
import { misuse } from "../failure.ts";
import type { Methods } from "../methods.ts";
import type { Session } from "../rows/session.ts";
import { removeSession } from "../sql/gc.ts";
import type { Dialect } from "../sql/planned.ts";
import { createSession, type Holder, labelOf, noteHolder, readSession, shownSession } from "../sql/sessions.ts";
import { thin } from "../sql/thin.ts";
import { begin } from "../sql/tries.ts";
import { commit } from "./commit.ts";
import type { Database } from "./database.ts";
import { giveBack } from "./gc.ts";
import type { Leases } from "./lease.ts";

/**
 * The methods of sessions that take leases or need them.
 * @param own the side of the file in plans that begin now
 */
export function sessionMethods(database: Database, leases: Leases, own: () => Dialect, holder: Holder) {
  /** The rows of sessions that were committed to since their leases were taken. */
  const known = new Map<string, Session>();
  const leased = async (id: string) => ({ ...(await database.perform(shownSession(id, own()))), fence: 0 });
  const checkHeld = (id: string) => {
    if (!leases.holds(id)) throw misuse(`session ${id} is written to without its lease`);
  };
  return {
    async create(session) {
      let taken = false;
      const work = async () => {
        await database.perform(createSession(session, holder));
        taken = leases.take(session.id);
        if (!taken) throw misuse(`the lock of session ${session.id}, which is new, is held`);
        const { begins } = session;
        if (!begins) return {};
        return { begun: await database.perform(begin(begins, { ...begins, fence: 0 }, own())) };
      };
      const begun = await database.write(work, () => taken && leases.forget(session.id));
      return database.read(async () => ({ ...(await leased(session.id)), ...begun }));
    },
    async lease(id) {
      await takeLease(database, leases, id);
      try {
        await database.write(async () => {
          await database.perform(readSession(id));
          await database.perform(noteHolder(id, holder));
        });
      } catch (error) {
        leases.drop(id);
        throw error;
      }
      return database.read(() => leased(id));
    },
    async release(id) {
      known.delete(id);
      leases.drop(id);
    },
    async commit(session, step) {
      checkHeld(session);
      return commit(database, session, step, known);
    },
    async thin(session, ends) {
      checkHeld(session);
      known.delete(session);
      return (await database.write(() => database.perform(thin(session, ends, own())))).more;
    },
    async remove(id, options = {}) {
      const isHeld = leases.holds(id);
      if (!isHeld) await takeLease(database, leases, id);
      try {
        const gone = await database.write(() => database.perform(removeSession(id, options, own())));
        await giveBack(database);
        for (const one of gone) {
          known.delete(one);
          leases.forget(one);
        }
      } catch (error) {
        if (!isHeld) leases.drop(id);
        throw error;
      }
    },
  } satisfies Partial<Methods>;
}

/** @throws RlmError `session_not_found`, `session_busy` */
async function takeLease(database: Database, leases: Leases, id: string): Promise<void> {
  const { holder, ...label } = await database.perform(labelOf(id));
  if (leases.take(id)) return;
  const who = holder ? `process ${holder.pid} on ${holder.host}` : "another process";
  const suggestion = `Wait until it is done, or ${remedy("fork")}.`;
  throw new RlmError("session_busy", `session ${displayName(label)} is held by ${who}`, { suggestion });
}
