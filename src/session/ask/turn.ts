import type { Json } from "../../../runtime/index.ts";
import type { Model } from "../../model/index.ts";
import { joinSignals } from "../../platform/signals.ts";
import { sleep } from "../../platform/sleep.ts";
import { inFlight } from "../exec/interrupted.ts";
import type { ExecAsked } from "../exec/request.ts";
import { openWork } from "../exec/run-exec.ts";
import { openTime } from "../exec/time.ts";
import { completeOf, resumeOf, startOf, type Work } from "../exec/work.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import { ROOT_CALL } from "../journal/ledger.ts";
import { type Complete, hashOf, type ToolCall, type ToolResult } from "../journal/records.ts";
import type { Setup } from "../setup.ts";
import { openBudget } from "../sub-calls/budget.ts";
import { withPlaces } from "../sub-calls/places.ts";
import { withRun } from "../sub-calls/run-part.ts";
import { askIn } from "./records.ts";
import { type TurnRequest, type TurnTaken, takeTurn } from "./request.ts";

// A turn of an ask is two commits. Between them only the request is out: a process that takes over sends it again.

/** A reply to a turn as it is kept. */
type Reply = TurnTaken & { readonly model: string; readonly elapsed_ms: number };

/** ▣ Keeps the start of a turn and its one call. If the turn was interrupted, keeps that this process takes it over. */
export async function keepTurn(setup: Setup, input: Json, interrupted: ExecRecords | null): Promise<Work> {
  const work = openWork(setup, interrupted?.start.exec_id ?? setup.env.newId());
  if (interrupted) {
    // The request itself has no effect, so it is sent again whatever `onRestart` says.
    const sending: Work = { ...work, setup: { ...setup, rules: { ...setup.rules, onRestart: "send" } } };
    await work.recorder.commit([resumeOf(sending, null, [], inFlight(interrupted))]);
  } else {
    const request = { kind: "turn", ask: askIn(setup.state()).start.exec_id, input } as const;
    await work.recorder.commit([startOf(setup, request, work.exec_id), callOf(work)]);
  }
  return work;
}

/** Sends the request of a turn once it has a place, within the time and budget of its ask. A failure is a reply too. */
export async function sendTurn(work: Work, model: Model, request: TurnRequest, asked: ExecAsked): Promise<Reply> {
  const { setup, recorder } = work;
  const { places } = setup;
  const { clock, random } = setup.env;
  const id = callId(work);
  const budget = openBudget(setup.rules.budget, recorder.state().account.ledger, { above: setup.above?.budget });
  using time = openTime(clock, clock.monotonic(), budget.left().remaining_time_ms);
  using ended = joinSignals(asked.signal, asked.suspend);
  using stopped = joinSignals(ended.signal, time.over);
  using place = await places.requests.take(stopped.signal);
  const ofRun = withRun(budget.open(id), setup, { id, counts: 0, ended: ended.signal });
  const lent = {
    model,
    budget: withPlaces(ofRun, places.requests, place),
    clock,
    random,
    sleep: (ms: number, until: AbortSignal) => sleep(clock, ms, until),
  };
  const taken = await takeTurn(request, lent, stopped.signal);
  const isOut = time.over.aborted && !taken.outcome.ok && !asked.signal?.aborted;
  return { ...taken, ...(isOut ? { outcome: TIME_IS_SPENT } : {}), model: model.id, elapsed_ms: time.elapsed() };
}

const TIME_IS_SPENT = { ok: false, code: "budget_exceeded", message: "the session's time is spent" } as const;

/** ▣ Keeps a reply and the end of its turn. */
export async function keepReply(work: Work, reply: Reply): Promise<void> {
  await work.recorder.commit([resultOf(work, reply), endOf(work, reply)]);
}

const callId = ({ exec_id }: Work) => `${exec_id}.1`;

function callOf(work: Work): ToolCall {
  const args: readonly Json[] = [];
  return {
    record: "rlm_tool_call",
    exec_id: work.exec_id,
    call_id: callId(work),
    checkpoint_id: null,
    name: ROOT_CALL,
    args,
    args_hash: hashOf(args),
    call_count: 1,
    output_bytes: 0,
    at: work.setup.env.clock.now(),
  };
}

function resultOf(work: Work, { outcome, usage, attempts, model, sent_at, elapsed_ms }: Reply): ToolResult {
  return {
    record: "rlm_tool_result",
    exec_id: work.exec_id,
    call_id: callId(work),
    name: ROOT_CALL,
    success: outcome.ok,
    value: outcome.ok ? JSON.parse(JSON.stringify(outcome.reply)) : { code: outcome.code, message: outcome.message },
    usage,
    attempts,
    model,
    refused: false,
    cached: false,
    tool_override_event: null,
    ...(sent_at === null ? {} : { sent_at }),
    elapsed_ms,
    at: work.setup.env.clock.now(),
  };
}

function endOf(work: Work, { outcome }: Reply): Complete {
  if (outcome.ok) return completeOf(work, { kind: "turn", call_count: 1 });
  const { code, message } = outcome;
  return completeOf(work, { kind: "turn", call_count: 1, success: false, error_code: code, error_message: message });
}
