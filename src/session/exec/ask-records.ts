import type { Json } from "../../../runtime/index.ts";
import type { AskEnding } from "../asks.ts";
import type { Start } from "../journal/records.ts";
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

/** ▣ Records how the session's open ask ended. Its time is that of its turns and cells. */
export async function endAsk(parts: ExecParts, before: SessionState, ending: AskEnding): Promise<void> {
  const { ask, helpers_hash } = before.account;
  if (!ask) return;
  const { answer, ...how } = ending;
  const { exec_id } = ask.start;
  await openRecorder(parts, exec_id, before).commit([
    {
      record: "rlm_complete",
      exec_id,
      kind: "ask",
      ...how,
      end: null,
      state: null,
      events: [],
      call_count: 0,
      time_ms: 0,
      resumed: ask.resumed,
      replayed_sub_calls: 0,
      checkpoint_id: null,
      helpers_hash,
      context_hash: before.context?.hash ?? null,
      answer,
      at: parts.clock.now(),
    },
  ]);
}
