import type { Json } from "../../../runtime/index.ts";
import { joinSignals } from "../../platform/signals.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import { ROOT_CALL } from "../journal/ledger.ts";
import { type Complete, hashOf, type ToolCall, type ToolResult } from "../journal/records.ts";
import { openBudget } from "../sub-calls/budget.ts";
import { withPlaces } from "../sub-calls/places.ts";
import { withRun } from "../sub-calls/run-part.ts";
import { inFlight } from "./interrupted.ts";
import type { ExecAsked, ExecOutcome, TurnRequest, TurnTaken } from "./request.ts";
import { openTime } from "./time.ts";
import { completeOf, resumeOf, startOf, type Work } from "./work.ts";

/**
 * A turn of an ask. Its start and its call are one commit, made before anything is sent; its reply and its end are another.
 * Between the two only the request is out: a process that takes over sends it again.
 */
export async function execTurn(
  work: Work,
  request: TurnRequest,
  { signal, suspend }: ExecAsked,
  interrupted: ExecRecords | null,
): Promise<ExecOutcome> {
  const { parts, recorder, exec_id } = work;
  const call_id = `${exec_id}.1`;
  // The request itself has no effect, so it is sent again whatever `onRestart` says.
  const sending: Work = { ...work, parts: { ...parts, onRestart: "send" } };
  if (interrupted) await recorder.commit([resumeOf(sending, null, [], inFlight(interrupted))]);
  else await recorder.commit([startOf(parts, recorder.state(), request, exec_id), callOf(work, call_id)]); // ▣
  const budget = openBudget(parts.budget, recorder.state().account.ledger, { above: parts.above?.budget });
  const from = parts.clock.monotonic();
  using time = openTime(parts.clock, from, budget.left().remaining_time_ms);
  using ended = joinSignals(signal, suspend);
  using stopped = joinSignals(ended.signal, time.over);
  const { requests } = parts.places;
  using place = await requests.take(stopped.signal);
  const taken = await request.take({
    budget: withPlaces(
      withRun(budget.open(call_id), parts.run, { id: call_id, counts: 0, ended: ended.signal }),
      requests,
      place,
    ),
    signal: stopped.signal,
  });
  if (suspend?.aborted) return { kind: "turn", unfinished: true };
  const end = time.over.aborted && !taken.ok && !signal?.aborted ? { ...taken, ...TIME_IS_SPENT } : taken;
  const result = resultOf(work, call_id, end, time.elapsed());
  await recorder.commit([result, endOf(work, end)]); // ▣
  return { kind: "turn", unfinished: false };
}

const TIME_IS_SPENT = { code: "budget_exceeded", message: "the session's time is spent" } as const;

function callOf({ parts, exec_id }: Work, call_id: string): ToolCall {
  const args: readonly Json[] = [];
  return {
    record: "rlm_tool_call",
    exec_id,
    call_id,
    checkpoint_id: null,
    name: ROOT_CALL,
    args,
    args_hash: hashOf(args),
    call_count: 1,
    output_bytes: 0,
    at: parts.clock.now(),
  };
}

function resultOf({ parts, exec_id }: Work, call_id: string, taken: TurnTaken, elapsed_ms: number): ToolResult {
  const { usage, attempts, model, sent_at } = taken;
  return {
    record: "rlm_tool_result",
    exec_id,
    call_id,
    name: ROOT_CALL,
    success: taken.ok,
    value: taken.ok ? taken.value : { code: taken.code, message: taken.message },
    usage,
    attempts,
    model,
    refused: false,
    cached: false,
    tool_override_event: null,
    ...(sent_at === undefined ? {} : { sent_at }),
    elapsed_ms,
    at: parts.clock.now(),
  };
}

function endOf(work: Work, taken: TurnTaken): Complete {
  if (taken.ok) return completeOf(work, { kind: "turn", call_count: 1 });
  const { code, message } = taken;
  return completeOf(work, { kind: "turn", call_count: 1, success: false, error_code: code, error_message: message });
}
