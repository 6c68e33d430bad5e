import { ulid } from "ulid";
import { RlmError, systemClock } from "../../runtime/index.ts";
import {
  COLLECT_OPTIONS,
  type CollectOptions,
  checkOptions,
  DESCRIBE_OPTIONS,
  type Describing,
  FORK_OPTIONS,
  forkSession,
  forkWithAnswers,
  type GivenAnswer,
  listReadableSessions,
  refuseBundled,
  removeSession,
  type SessionSummary,
  TEXT,
} from "../session/index.ts";
import { openSigner } from "../settings/signed-settings.ts";
import { type Collected, type DamagedRow, findingsIn, shareStore } from "../store/index.ts";
import { placeOf } from "../store/store-place.ts";
import type { SessionDescription } from "./api.ts";
import { describeSession } from "./describe.ts";

/**
 * The sessions that a folder keeps. A session is known by its name, its id, or the end of its
 * id. Every method may reject with RlmError: `session_not_found`, `session_busy`,
 * `store_failed`, `store_corrupt`.
 */
export interface SessionStore extends AsyncDisposable {
  /** The sessions that can be read, the one changed last first. */
  list(): Promise<readonly SessionSummary[]>;
  /** Sessions that `list` leaves out because their rows cannot be read. `remove` drops one by its whole id. */
  damaged(): Promise<readonly DamagedRow[]>;
  /**
   * Describes a session: its execs, sub-calls and checkpoints. A damaged session is refused unless `partly` is true.
   */
  describe(session: string, options?: Describing): Promise<SessionDescription>;
  /**
   * Creates a session at a checkpoint of another one; default: that of its newest exec's end.
   * `openSession` with its id or name continues from there. Also rejects with
   * `session_exists`, `checkpoint_not_found`. With `answers` of a person to calls of its newest exec there is no
   * `checkpoint`: `resume`, or `runWorkflow`, then finishes that exec.
   */
  fork(
    session: string,
    options?: {
      readonly checkpoint?: string | undefined;
      readonly name?: string | undefined;
      readonly answers?: readonly GivenAnswer[] | undefined;
    },
  ): Promise<SessionSummary>;
  remove(session: string): Promise<void>;
  /** Removes what no session needs and sessions that are old enough, and frees their space. */
  collect(options?: CollectOptions): Promise<Collected>;
  /** Reads everything. One line for each finding; lines that begin with `info:` are not faults. */
  verify(): Promise<readonly string[]>;
  /** Closes the store, as disposing of it does. Sessions stay open, and a second call does nothing. */
  close(): Promise<void>;
}

const DAY_MS = 24 * 3600 * 1000;

/**
 * Opens the store in a folder, which is made if it is missing.
 * @throws RlmError `store_failed`, `store_too_new`
 */
export async function openStore(place: string, { clock = systemClock } = {}): Promise<SessionStore> {
  refuseBundled();
  checkOptions("openStore()", TEXT, place);
  const store = await shareStore(placeOf(place));
  const signer = openSigner(placeOf(place), process.env);
  const close = async () => store[Symbol.asyncDispose]();
  return {
    list: async () => (await listReadableSessions(store)).sessions,
    damaged: () => store.damaged(),
    async describe(session, options = {}) {
      checkOptions("describe()", TEXT, session);
      checkOptions("describe()", DESCRIBE_OPTIONS, options);
      return describeSession(store, session, options);
    },
    async fork(session, options = {}) {
      checkOptions("fork()", TEXT, session);
      checkOptions("fork()", FORK_OPTIONS, options);
      const { checkpoint = null, name = null, answers = [] } = options;
      const at = clock.now();
      const id = ulid(at);
      const forking = { id, name, origin: "library", at, settings: signer.forFork(id) } as const;
      if (answers.length === 0) return forkSession(store, session, { ...forking, checkpoint });
      if (checkpoint !== null)
        throw new RlmError("invalid_argument", "fork() takes answers or a checkpoint, not both", {
          suggestion: "Leave the checkpoint out: answers are for calls of the newest exec.",
        });
      return (await forkWithAnswers(store, session, { ...forking, newId: ulid, signer }, answers)).session;
    },
    async remove(session) {
      checkOptions("remove()", TEXT, session);
      await removeSession(store, session);
    },
    async collect(options = {}) {
      checkOptions("collect()", COLLECT_OPTIONS, options);
      const { anonymousMs = DAY_MS, namedMs = null, pi = false, dryRun = false } = options;
      return store.gc({ now: clock.now(), anonymousMs, namedMs, pi, dryRun });
    },
    verify: () => findingsIn(store),
    close,
    [Symbol.asyncDispose]: close,
  };
}
