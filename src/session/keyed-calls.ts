import type { Json } from "../../runtime/index.ts";
import { jsonOf } from "../platform/json.ts";
import type { Store } from "../store/index.ts";
import type { LoadResult, Session } from "./api.ts";
import type { AskEnvelope } from "./ask/api.ts";
import { askEnvelope } from "./ask/envelope.ts";
import { storedContext } from "./contexts/contexts.ts";
import { cellFiles, EMPTY_ACCOUNT, follow, type KeyedExec } from "./journal/account.ts";
import { coveredContext } from "./journal/coverage-sums.ts";
import { cellIn, envelope, queryEnvelope } from "./journal/envelope.ts";
import { type CallKey, readJournal } from "./journal/records.ts";
import type { SessionParts } from "./parts.ts";

/**
 * Calls of tools by the keys that their hosts give them. A key is kept in the commit of the exec's `rlm_start`: a kill before it leaves
 * a call that nobody has made, and a kill after it leaves an exec that the same key finds.
 */
interface KeyedCalls {
  /** The newest exec of this key; null: none of the keys that the session remembers. */
  find(key: string): KeyedExec | null;
  /** The answer of an exec; null: it is not over, or was cancelled, so that the call is to be made. */
  answer(exec_id: string): Promise<KeyedAnswer | null>;
  /** The exec that begins or is resumed next belongs to this call; null: to none. */
  next(key: CallKey | null): void;
}

interface KeyedAnswer extends RecordedAnswer {
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

/** The answer of an exec that has ended, from its records. Its `budget` is the one that is left now. */
export interface RecordedAnswer {
  readonly exec_id: string;
  readonly answer: { readonly success: boolean; readonly [field: string]: Json };
  /** The key of the context after it; null: there was none. */
  readonly context_key: string | null;
  /** The answer once more, if an ask gave it; else null. */
  readonly ask: AskEnvelope | null;
}

/**
 * The answer of an exec of the session, or of an ask; without an id that of the newest one that has ended.
 *
 * @returns null if there is none @throws RlmError of the store
 */
export async function recordedAnswer(
  store: Pick<Store, "journal" | "contextIndex" | "texts">,
  session: Pick<Session, "id" | "budget">,
  exec_id: string | null,
): Promise<RecordedAnswer | null> {
  const records = await readJournal(store, session.id);
  const end = records.findLastIndex(
    (record) => record.record === "rlm_complete" && (exec_id === null || record.exec_id === exec_id),
  );
  const account = records.slice(0, end + 1).reduce(follow, EMPTY_ACCOUNT);
  const { ask } = account;
  if (ask?.complete && records[end] === ask.complete) {
    const context = await coveredContext(store, account.context_key);
    const envelope = askEnvelope({ session_id: session.id, ask, budget: session.budget(), context, trajectory: true });
    return { exec_id: ask.complete.exec_id, context_key: account.context_key, answer: plain(envelope), ask: envelope };
  }
  const complete = account.last?.complete;
  if (!complete) return null;
  const { kind, success, error_code, error_message } = complete;
  const cell = cellIn(complete);
  if (!cell) {
    const failure = { error_code, error_message, suggestion: "Call the tool again." };
    const answer = { success, exec_id: complete.exec_id, kind, ...(success ? {} : failure) };
    return { exec_id: complete.exec_id, context_key: account.context_key, answer, ask: null };
  }
  const facts = { session_id: session.id, budget: session.budget(), unfinished: false, files: cellFiles(account) };
  const own = envelope(cell, facts);
  const context = kind === "query" ? await coveredContext(store, account.context_key) : null;
  const answer = kind === "query" ? queryEnvelope(own, context?.skipped ?? null) : own;
  return { exec_id: complete.exec_id, context_key: account.context_key, answer: plain(answer), ask: null };
}

function plain(answer: { readonly success: boolean }): RecordedAnswer["answer"] {
  return { success: answer.success, ...jsonOf(answer) };
}
