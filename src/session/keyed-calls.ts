import type { LoadResult, Session } from "./api.ts";
import { storedContext } from "./contexts/contexts.ts";
import type { KeyedExec } from "./journal/account.ts";
import type { CallKey } from "./journal/records.ts";
import type { SessionParts } from "./parts.ts";
import { type RecordedAnswer, recordedAnswer } from "./stored/recorded.ts";

/**
 * Calls of tools by the keys that their hosts give them. A key is kept in the commit of the exec's `rlm_start`: a kill before it leaves
 * a call that nobody has made, and a kill after it leaves an exec that the same key finds.
 */
export interface KeyedCalls {
  /** The newest exec of this key; null: none of the keys that the session remembers. */
  find(key: string): KeyedExec | null;
  /** The answer of an exec; null: it is not over, or was cancelled, so that the call is to be made. */
  answer(exec_id: string): Promise<KeyedAnswer | null>;
  /** The exec that begins or is resumed next belongs to this call; null: to none. */
  next(key: CallKey | null): void;
}

export interface KeyedAnswer extends RecordedAnswer {
  /** Facts of the context after it; null: it has none, or the store has not kept it. */
  readonly stats: LoadResult["stats"] | null;
}

const known = new WeakMap<Session, KeyedCalls>();

/** The calls of a session that this process has opened. */
export function keyedCallsOf(session: Session): KeyedCalls {
  const calls = known.get(session);
  if (calls) return calls;
  throw new Error("another session");
}

/** Makes the calls of a session known. */
export function withKeyedCalls(session: Session, { called, env, state }: SessionParts): Session {
  const { store } = env;
  known.set(session, {
    find: (key) => state().account.keyed.findLast((call) => call.key === key) ?? null,
    async answer(exec_id) {
      if (session.unfinished()?.exec_id === exec_id) return null;
      const recorded = await recordedAnswer(store, session, exec_id);
      if (!recorded || recorded.answer.error_code === "cancelled") return null;
      const { context_key: key } = recorded;
      const isNow = key === state().account.context_key;
      const context = key === null || isNow ? null : await storedContext(store, key).catch(() => null);
      return { ...recorded, stats: isNow ? session.stats() : (context?.stats ?? null) };
    },
    next(key) {
      called.key = key;
    },
  });
  return session;
}
