import type { Json } from "../../../runtime/index.ts";
import type { Store } from "../../store/index.ts";
import type { Session } from "../api.ts";
import type { AskEnvelope } from "../ask/api.ts";
import { askEnvelope } from "../ask/envelope.ts";
import { cellFiles, EMPTY_ACCOUNT, follow } from "../journal/account.ts";
import { cellIn, envelope, queryEnvelope } from "../journal/envelope.ts";
import { readJournal } from "../journal/records.ts";
import { coveredContext } from "./coverage.ts";

/** The answer of an exec that is over, from its records. Its `budget` is the one that is left now. */
export interface RecordedAnswer {
  readonly exec_id: string;
  readonly answer: { readonly success: boolean; readonly [field: string]: Json };
  /** The key of the context after it; null: there was none. */
  readonly context_key: string | null;
  /** The answer once more, if an ask gave it; else null. */
  readonly ask: AskEnvelope | null;
}

/**
 * The answer of an exec of the session, or of an ask; without an id that of the newest one that is over.
 *
 * @returns null if there is none @throws RlmError of the store
 */
export async function recordedAnswer(
  store: Pick<Store, "journal" | "contextIndex">,
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
  return { success: answer.success, ...JSON.parse(JSON.stringify(answer)) };
}
