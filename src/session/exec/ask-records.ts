import type { Json } from "../../../runtime/index.ts";
import type { AskEnding } from "../asks.ts";
import type { Account, AskRecords } from "../journal/account.ts";
import type { Complete, Resume, Start } from "../journal/records.ts";
import { openRecorder } from "./recorder.ts";
import type { SessionState } from "./session-state.ts";
import type { ExecParts } from "./work.ts";

/** ▣ Records that an ask begins. Its turns and cells name it. */
export async function beginAsk(parts: ExecParts, before: SessionState, input: Json): Promise<void> {
  const start: Start = {
    record: "rlm_start",
    exec_id: parts.newId(),
    kind: "ask",
    input,
    cell: null,
    limits: {},
    helpers_hash: before.account.helpers_hash,
    rest: [],
    at: parts.clock.now(),
  };
  await openRecorder(parts, start.exec_id, before).commit([start]);
}

/** ▣ Records that a process goes on with the session's open ask. Its recorded replies are not asked for again. */
export async function resumeOfAsk(parts: ExecParts, before: SessionState): Promise<void> {
  const { ask } = before.account;
  if (!ask) return;
  const resume: Resume = {
    record: "rlm_resume",
    exec_id: ask.start.exec_id,
    checkpoint_id: before.account.checkpoint,
    replayed: ask.execs.filter(({ start, complete }) => start.kind === "turn" && complete?.success).length,
    resent: [],
    failed: [],
    at: parts.clock.now(),
  };
  await openRecorder(parts, ask.start.exec_id, before).commit([resume]);
}

/** ▣ Records how the session's open ask ended. */
export async function endAsk(parts: ExecParts, before: SessionState, ending: AskEnding): Promise<void> {
  const { ask } = before.account;
  if (!ask) return;
  const end = askEnd(ask, before.account, ending, parts.clock.now());
  await openRecorder(parts, end.exec_id, before).commit([end]);
}

/** How an ask ends that is given up. */
export const GIVEN_UP: AskEnding = {
  success: false,
  error_code: "cancelled",
  error_message: "discarded",
  answer: null,
};

/** The end of an ask of this account. Its time is that of its turns and cells. @param at ms since the epoch */
export function askEnd({ start, resumed }: AskRecords, account: Account, ending: AskEnding, at: number): Complete {
  const { answer, ...how } = ending;
  return {
    record: "rlm_complete",
    exec_id: start.exec_id,
    kind: "ask",
    ...how,
    end: null,
    state: null,
    events: [],
    call_count: 0,
    time_ms: 0,
    resumed,
    replayed_sub_calls: 0,
    checkpoint_id: null,
    helpers_hash: account.helpers_hash,
    context_hash: account.context_hash,
    context_key: account.context_key,
    answer,
    at,
  };
}
