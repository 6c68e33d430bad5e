import { LIMITS, type Thinking } from "../../../runtime/index.ts";
import {
  type Asked,
  cutAnswer,
  loadSubCallLayer,
  type Model,
  type ModelMessage,
  type ModelTurn,
  type RequestParts,
  refusesTools,
  type Spent,
} from "../../models/index.ts";
import { jsonOf, withoutUndefined } from "../../platform/json.ts";
import { joinSignals, sleep } from "../../platform/signals.ts";
import { inFlight } from "../exec/interrupted.ts";
import { openWork } from "../exec/run-exec.ts";
import type { ExecAsked } from "../exec/work.ts";
import { completeOf, resumeOf, startOf, type Work } from "../exec/work.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import { ROOT_CALL } from "../journal/ledger.ts";
import { hashOf, type ToolCall, type ToolResult } from "../journal/records.ts";
import type { SessionParts } from "../parts.ts";
import { openBudget } from "../sub-calls/budget.ts";
import { openTime } from "../sub-calls/call-time.ts";
import { withPlaces } from "../sub-calls/concurrency.ts";
import { FREE, limitOf } from "../sub-calls/port.ts";
import { withRun } from "../sub-calls/run-part.ts";
import type { Protocol } from "./api.ts";
import { TOO_LONG, TOOLS_REFUSED } from "./next.ts";
import { UNREAD } from "./prompt.ts";
import { askIn, type FailedTurn, type Round, type TurnInput } from "./records.ts";

import { CELL_TOOL, endOfCell, type ReadBy, reading } from "./reply.ts";

// A turn of an ask is two commits. Between them only the request is out: a process that takes over sends it again.

/** ▣ Keeps the start of a turn and its one call. If the turn was interrupted, keeps that this process takes it over. */
export async function keepTurn(
  setup: SessionParts,
  { turn, closing, protocol, elide, messages, limits }: TurnInput,
  interrupted: ExecRecords | null,
): Promise<Work> {
  const work = openWork(setup, interrupted?.start.exec_id ?? setup.env.newId());
  if (interrupted) {
    // The request itself has no effect, so it is sent again whatever `onRestart` says.
    const sending: Work = { ...work, setup: { ...setup, rules: { ...setup.rules, onRestart: "send" } } };
    await work.recorder.commit([resumeOf(sending, null, [], inFlight(interrupted))]);
  } else {
    const input = { turn, closing, protocol, elide, messages, ...withoutUndefined({ limits }) };
    const request = { kind: "turn", ask: askIn(setup.state()).start.exec_id, input } as const;
    const call: ToolCall = {
      record: "rlm_tool_call",
      exec_id: work.exec_id,
      call_id: callId(work),
      checkpoint_id: null,
      name: ROOT_CALL,
      args: [],
      args_hash: hashOf([]),
      call_count: 1,
      output_bytes: 0,
      at: setup.env.clock.now(),
    };
    await work.recorder.commit([startOf(setup, request, work.exec_id), call]);
  }
  return work;
}

/** The reply of a root model, and what its request took. */
interface SentTurn extends TakenTurn {
  readonly model: string;
  readonly elapsed_ms: number;
}

/** Sends the request of a turn once it has a place, within the time and budget of its ask. A failure is a reply too. */
export async function sendTurn(work: Work, model: Model, request: TurnRequest, asked: ExecAsked): Promise<SentTurn> {
  const { setup, recorder } = work;
  const { places, patience } = setup;
  const { random } = setup.env;
  const { time: clock } = patience;
  const id = callId(work);
  const budget = openBudget(setup.rules, recorder.state().account, { above: setup.above?.budget });
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
    patience,
    sleep: (ms: number, until: AbortSignal) => sleep(clock, ms, until),
  };
  const taken = await takeTurn(request, lent, stopped.signal);
  const isOut = time.over.aborted && !taken.outcome.ok && !asked.signal?.aborted;
  const outcome: Round["outcome"] = isOut ? TIME_IS_SPENT : taken.outcome;
  return { ...taken, outcome, model: model.id, elapsed_ms: time.elapsed() };
}

const TIME_IS_SPENT = {
  ok: false,
  code: "budget_exceeded",
  message: "the time of the budget is spent",
  limit: "time_ms",
} as const;

/** ▣ Keeps a reply and the end of its turn. */
export async function keepReply(
  work: Work,
  { outcome, usage, attempts, model, sent_at, mended, elapsed_ms }: SentTurn,
): Promise<void> {
  const result: ToolResult = {
    record: "rlm_tool_result",
    exec_id: work.exec_id,
    call_id: callId(work),
    name: ROOT_CALL,
    success: outcome.ok,
    value: outcome.ok ? jsonOf(outcome.reply) : { code: outcome.code, message: outcome.message },
    ...FREE,
    usage,
    attempts,
    model,
    ...(outcome.ok ? {} : limitOf(outcome)),
    ...(sent_at === null ? {} : { sent_at }),
    ...(mended.length === 0 ? {} : { mended }),
    elapsed_ms,
    at: work.setup.env.clock.now(),
  };
  const failed = outcome.ok ? {} : { success: false, error_code: outcome.code, error_message: outcome.message };
  await work.recorder.commit([result, completeOf(work, failed)]);
}

const callId = ({ exec_id }: Work) => `${exec_id}.1`;

/** A request to the root model. */
export interface TurnRequest extends ReadBy {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  /** Output tokens, thinking included. */
  readonly max_tokens: number;
  readonly thinking: Thinking;
  /** Id of the ask, by which providers find their cache. */
  readonly conversation: string;
}

/** The reply of a root model, or why there is none. */
interface TakenTurn extends Pick<Spent, "usage" | "attempts" | "sent_at" | "mended"> {
  readonly outcome: Round["outcome"];
}

/** A turn with its retries, ms. */
const TURN_MS = 300_000;

/** Asks the root model once, with the retries of a sub-call and within the budget. Never rejects. */
export async function takeTurn(
  request: TurnRequest,
  parts: RequestParts & { readonly model: Model },
  signal: AbortSignal,
): Promise<TakenTurn> {
  const { openRequests } = await loadSubCallLayer();
  const { system, messages, protocol } = request;
  const deadline = parts.clock.monotonic() + (parts.model.isLocal ? LIMITS.localCallTimeoutMs : TURN_MS);
  const requests = openRequests(parts.model, request, parts, { deadline, signal });
  const asked = await requests.ask(system, messages, protocol === "tools" ? [CELL_TOOL_SPEC] : []);
  const { usage, attempts, sent_at, mended } = requests.spent();
  if (!asked.ok) return { outcome: failed(asked, protocol), usage, attempts, sent_at, mended };
  const end = asked.turn.stop === "length" ? null : endOfCell(asked.turn, request);
  const outcome = await usable(asked.turn, request, end);
  return { outcome, usage, attempts, sent_at, mended: end === null ? mended : [...mended, BEHIND_CELL] };
}

/** Protocol `tools`: one tool. The closing turn keeps it, so that the conversation keeps its calls. */
const CELL_TOOL_SPEC = {
  name: CELL_TOOL,
  description: "Runs a JavaScript cell over P and shows its output.",
  parameters: {
    type: "object",
    properties: { code: { type: "string", description: "JavaScript; top-level await, variables persist" } },
    required: ["code"],
  },
} as const;

const BEHIND_CELL = "text behind its cell";

/**
 * A reply that can be run: one that was cut holds half a cell.
 *
 * @param end of its first cell, if only that is kept: the model then sees that it was the end
 */
async function usable(given: ModelTurn, request: TurnRequest, end: number | null): Promise<Round["outcome"]> {
  if (given.stop === "length") {
    const { code, message } = cutAnswer(given, `${request.max_tokens} tokens`);
    return { ok: false, code, message };
  }
  const reply = end === null ? given : (await loadSubCallLayer()).cutTurn(given, end);
  return { ok: true, reply: { ...reply, read: reading(reply, request) } };
}

function failed({ error, isTooLong, unread }: Extract<Asked, { ok: false }>, protocol: Protocol): FailedTurn {
  const { code, message, limit } = error;
  if (isTooLong) return { ok: false, code: TOO_LONG, message };
  if (unread !== undefined) return { ok: false, code: UNREAD, message };
  const isRefusal = protocol === "tools" && refusesTools(error);
  return { ok: false, code: isRefusal ? TOOLS_REFUSED : code, message, ...(limit === undefined ? {} : { limit }) };
}
