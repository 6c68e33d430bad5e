import { type Clock, type ErrorCode, hasCode, RlmError } from "../../../runtime/index.ts";
import { nullIf } from "../../platform/errors.ts";
import { forkSession, type Session } from "../../session/index.ts";
import type { SessionRow } from "../../store/index.ts";
import type { BranchHead } from "./entries.ts";
import type { MirroredStore } from "./mirror.ts";

interface BranchSessionsParts {
  readonly store: MirroredStore;
  /**
   * Opens the session with this id; without one a new session. It gets its options from the
   * settings.
   */
  open(id: string | null): Promise<Session>;
  readonly newId: () => string;
  readonly clock: Clock;
}

/** The one session of the store that this process has open: that of the branch. */
export function openBranchSessions({ store, open, newId, clock }: BranchSessionsParts) {
  let current: Session | null = null;
  /**
   * The session that was made here for the present branch. It is dropped again if nothing runs in
   * it.
   */
  let made: { readonly id: string; readonly head: string | null } | null = null;

  async function close(): Promise<void> {
    const session = current;
    const unused = made && !store.isUsed(made.id) ? made.id : null;
    current = null;
    made = null;
    await session?.close();
    if (unused !== null) await store.remove(unused);
  }

  async function switchTo(id: string | null): Promise<Session> {
    await close();
    current = await open(id);
    return current;
  }

  async function fresh(): Promise<Session> {
    const session = await switchTo(null);
    made = { id: session.id, head: null };
    return session;
  }

  async function forked(session: string, checkpoint: string): Promise<Session> {
    await close();
    // They are replaced when the fork is opened.
    const settings = (parent: SessionRow) => parent.settings;
    const fork = { id: newId(), name: null, origin: "pi", checkpoint, at: clock.now(), settings } as const;
    // The branch tells of the ask that the checkpoint lies in, if it has ended: it is not to be
    // continued in a fork.
    const { id } = await forkSession(store.unmirrored, session, { ...fork, endsAsk: true });
    made = { id, head: checkpoint };
    current = await open(id);
    return current;
  }

  /** The session itself, if its head is the checkpoint and no other process holds it. */
  async function continued(id: string, checkpoint: string | null): Promise<Session | null> {
    const row = await store.find(id);
    if (!row) {
      throw new RlmError("session_not_found", `the session ${id} of this branch is not in the store`, {
        suggestion: "Call rlm_load to start again; the store is the folder of BELAY_HOME (~/.belay).",
      });
    }
    if (row.head !== checkpoint || row.busy) return null;
    const session = await nullIf("session_busy", switchTo(id));
    if (session?.unfinished() === null && store.head(id) === checkpoint) return session;
    await close();
    return null;
  }

  async function atHead({ session: id, checkpoint }: BranchHead): Promise<Session> {
    if (current?.id === id && store.head(id) === checkpoint && current.unfinished() === null) return current;
    // A fork for this branch in which nothing has run yet.
    if (current && made?.id === current.id && made.head === checkpoint && !store.isUsed(current.id)) return current;
    if (current?.id === id) await close();
    const session = await continued(id, checkpoint);
    if (session) return session;
    return checkpoint === null ? fresh() : forked(id, checkpoint);
  }

  return {
    current: () => current,
    /** Closes the session. A session made here in which nothing ran is dropped. */
    close,
    /**
     * The session at the state of the branch: the open one or the one that the branch names. If
     * that one has continued elsewhere, or another process holds it, a fork of it is opened.
     *
     * @param isReset the state is about to be replaced: if it is lost, a new session does as well
     * @throws RlmError `session_not_found`, `checkpoint_not_found`, `checkpoint_lost`,
     * `context_lost` and those of the store
     */
    async at(head: BranchHead | null, isReset: boolean): Promise<Session> {
      if (!head) return current && made?.id === current.id && !store.isUsed(current.id) ? current : fresh();
      try {
        return await atHead(head);
      } catch (error) {
        if (isReset && hasCode(error, ...LOST)) return fresh();
        throw error;
      }
    },
    /**
     * The session of an interrupted exec, as it is. @throws RlmError `session_busy` and the like
     */
    interrupted: (id: string) => (current?.id === id ? Promise.resolve(current) : switchTo(id)),
  };
}

const LOST: readonly ErrorCode[] = [
  "session_not_found",
  "checkpoint_not_found",
  "checkpoint_lost",
  "context_lost",
  "store_corrupt",
];
