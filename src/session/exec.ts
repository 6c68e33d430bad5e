import {
  type CellEnd,
  type ExecEnd,
  type ExecLimits,
  type ExecSignals,
  type ExecState,
  isErrorCode,
  type Json,
  noOutput,
  placeless,
  RlmError,
} from "../../runtime/index.ts";
import type { Context } from "../context/context.ts";
import type { ToolOverrideEvent } from "../model/policy.ts";
import { type CellParts, type CellRun, type Continuation, runCell, warn } from "./cell.ts";
import { keepContext, type LoadInput } from "./contexts.ts";
import { codeOf } from "./envelope.ts";
import type { Guest, Machine, Stand } from "./guest.ts";
import type { ExecRecords } from "./history.ts";
import { continuationAt, continuationFromStart, elapsedIn, inFlight, stepsOf } from "./interrupted.ts";
import type { CellFile, Complete, Start } from "./journal.ts";
import { type EndFacts, type Head, openRecorder, type Recorder, type RecorderParts } from "./recorder.ts";

/** What is asked of an exec. */
export type ExecRequest =
  | {
      readonly kind: "cell";
      readonly source: string;
      readonly limits: Partial<ExecLimits>;
      readonly sites?: boolean;
      readonly rest?: readonly CellFile[];
    }
  /** A cell of ours, on another machine at the same checkpoint: only the ledger moves. */
  | { readonly kind: "query"; readonly prompt: string; readonly source: string }
  | { readonly kind: "load" | "append"; readonly input: LoadInput; read(current: Context | null): Promise<Context> }
  | { readonly kind: "memory" | "helpers"; readonly input: Json };

/** What an exec gives; the head goes to `moved`. */
export type ExecOutcome =
  | {
      readonly kind: "cell" | "query";
      readonly complete: CellComplete;
      /** It is not over: it was suspended, or its end could not be kept. `complete` is in no journal. */
      readonly isOpen: boolean;
    }
  | { readonly kind: "load" | "append"; readonly context: Context }
  | { readonly kind: "memory" | "helpers"; readonly value: Json };

/** The record of an exec that ran a cell: all that its envelope is made of. */
export type CellComplete = Complete & { readonly end: CellEnd; readonly state: ExecState };

/** All that an exec needs and that does not change from exec to exec. */
export interface ExecParts extends CellParts, RecorderParts {
  readonly guest: Guest;
  readonly keepSteps: boolean;
}

type CellRequest = Extract<ExecRequest, { kind: "cell" | "query" }>;

/**
 * One exec: `(head, request) → head'`. Its start is kept before it does anything; its end, in one commit with the state
 * that it leaves, before it answers. A cell that fails is an outcome. Rejects where the caller asked for something that
 * cannot be done, or where the store fails; the head is then what the store has.
 *
 * @param interrupted the records of an exec that has begun and not ended: it is finished in place of a new one
 */
export async function exec(
  parts: ExecParts,
  head: Head,
  request: ExecRequest,
  signals: ExecSignals = {},
  interrupted: ExecRecords | null = null,
): Promise<ExecOutcome> {
  const exec_id = interrupted?.start.exec_id ?? parts.newId();
  const recorder = openRecorder(parts, exec_id, head);
  if (!interrupted) await recorder.commit([startOf(parts, head, request, exec_id)]);
  const work: Work = { parts, recorder, exec_id, startedAt: parts.clock.monotonic(), events: [] };
  if (request.kind === "cell" || request.kind === "query") {
    return { kind: request.kind, ...(await execCell(work, request, signals, interrupted)) };
  }
  if (interrupted) await recorder.commit([resumeOf(work, null, [], [])]);
  try {
    return await execAtOnce(work, request);
  } catch (error) {
    if (error instanceof RlmError && error.code === "machine_lost") await parts.guest.end();
    const { code, message } = failureOf(error);
    await recorder.commit([completeOf(work, { success: false, error_code: code, error_message: message })]);
    throw error;
  }
}

/** Ends an interrupted exec as cancelled: the state is that before it. */
export async function discard(parts: ExecParts, head: Head, { start, calls }: ExecRecords): Promise<void> {
  const { exec_id, kind, cell, limits } = start;
  const recorder = openRecorder(parts, exec_id, head);
  const work: Work = { parts, recorder, exec_id, startedAt: parts.clock.monotonic(), events: [] };
  const state = cell === null ? null : { ...unstarted(work, parts), limits: { ...parts.limits, ...limits } };
  const end: CellEnd | null = cell === null ? null : { kind: "cancelled" };
  const complete = completeOf(work, { kind, success: false, error_code: "cancelled", end, state });
  await recorder.commit([complete], { drop: parts.keepSteps ? [] : stepsOf({ calls }) });
}

/** An exec that is running. */
interface Work {
  readonly parts: ExecParts;
  readonly recorder: Recorder;
  readonly exec_id: string;
  /** On the scale of `clock.monotonic()`; an earlier process's part of the exec taken off. */
  startedAt: number;
  /** Decisions on tools. */
  readonly events: ToolOverrideEvent[];
}

/** Kinds that make no calls: what interrupts them leaves nothing behind, and they are done again. */
async function execAtOnce(work: Work, request: Exclude<ExecRequest, CellRequest>): Promise<ExecOutcome> {
  const { parts, recorder } = work;
  const { context } = recorder.head();
  const end = async (machine: Machine, after: Context | null) => {
    const make = (facts: EndFacts) => completeOf(work, { ...facts, context_hash: after?.hash ?? null });
    try {
      await recorder.end(machine, after, make, []);
    } catch (error) {
      // The machine has what the session has not.
      await parts.guest.end();
      throw error;
    }
  };
  switch (request.kind) {
    case "load": {
      const loaded = await request.read(null);
      await keepContext(parts.store, loaded);
      await parts.guest.reset();
      await end(await parts.guest.use({ checkpoint: null, context: loaded, sources: [] }), loaded);
      return { kind: "load", context: loaded };
    }
    case "append": {
      const loaded = await request.read(context);
      await keepContext(parts.store, loaded);
      await end(await parts.guest.use({ ...standOf(recorder.head()), context: loaded }), loaded);
      return { kind: "append", context: loaded };
    }
    default: {
      const machine = await parts.guest.use(standOf(recorder.head()));
      const value = await machine.sandbox.enter(request.kind, request.input);
      await end(machine, context);
      return { kind: request.kind, value };
    }
  }
}

async function execCell(
  work: Work,
  request: CellRequest,
  signals: ExecSignals,
  interrupted: ExecRecords | null,
): Promise<{ complete: CellComplete; isOpen: boolean }> {
  const { parts, recorder } = work;
  const { context, history } = recorder.head();
  const apart = request.kind === "query";
  let machine: Machine | undefined;
  let ended: ExecEnd;
  try {
    const opened = interrupted
      ? await reopen(work, interrupted, apart)
      : { machine: await openAt(parts, standOf(recorder.head()), apart), from: null };
    machine = opened.machine;
    const run: CellRun = {
      exec_id: work.exec_id,
      cell: apart ? 0 : history.cells + 1,
      startedAt: work.startedAt,
      events: work.events,
      history: () => recorder.head().history,
      commit: (records, cache) => recorder.commit(records, cache ? { cache } : {}),
      step: recorder.step,
    };
    const asked = request.kind === "cell" ? request : { source: request.source, limits: {} };
    ended = await runCell(parts, run, machine, asked, signals, opened.from);
  } catch (error) {
    if (machine && apart) await machine[Symbol.asyncDispose]();
    if (!(error instanceof RlmError)) throw error;
    const { code, message, suggestion } = error;
    ended = {
      state: unstarted(work, parts),
      end: placeless(code, "Error", message, suggestion),
      lost: machine ? message : null,
    };
  }
  for (const warning of machine?.takeWarnings() ?? []) warn(ended.state, warning);
  const { end, state } = ended;
  const code = codeOf(end);
  const fields = { success: code === null, error_code: code, end, state };
  if (signals.suspend?.aborted && ended.lost !== null) {
    if (apart) await machine?.[Symbol.asyncDispose]();
    else await parts.guest.end();
    return { complete: { ...completeOf(work, fields), end, state }, isOpen: true };
  }
  const steps = parts.keepSteps ? [] : stepsOf(recorder.head().history.last ?? { calls: [] });
  let complete: Complete | undefined;
  const make = (facts: Partial<EndFacts>) => {
    complete = completeOf(work, { ...fields, ...facts });
    return complete;
  };
  try {
    if (apart) {
      await machine?.[Symbol.asyncDispose]();
      await recorder.endUnchanged(make, steps);
    } else {
      const kept = machine && ended.lost === null && (await keptEnd(work, machine, make, steps));
      const standing = kept || !machine ? null : await restored(work, ended);
      if (standing) await recorder.end(standing, context, make, steps);
      else if (!kept) await recorder.commit([make({})], { drop: steps });
    }
    return { complete: { ...(complete ?? completeOf(work, fields)), end, state }, isOpen: false };
  } catch (error) {
    if (!apart) await parts.guest.end();
    const failed = notKept(error);
    const open = { success: false, error_code: codeOf(failed), state };
    return { complete: { ...completeOf(work, open), end: failed, state }, isOpen: true };
  }
}

const openAt = ({ guest }: ExecParts, stand: Stand, apart: boolean) => (apart ? guest.apart(stand) : guest.use(stand));

/**
 * The machine of an interrupted exec at the newest of its checkpoints that can be read, else at its start, with what it
 * was answered since.
 *
 * @throws RlmError `checkpoint_lost`
 */
async function reopen(
  work: Work,
  records: ExecRecords,
  apart: boolean,
): Promise<{ machine: Machine; from: Continuation }> {
  const { parts, recorder } = work;
  const stand = standOf(recorder.head());
  for (const { tool_override_event: event } of records.results) if (event) work.events.push(event);
  const since = (ms: number) => {
    work.startedAt = parts.clock.monotonic() - ms;
  };
  for (const step of stepsOf(records)) {
    const at = await unlessLost(
      apart ? parts.guest.apartAtStep(step, stand) : parts.guest.useStep(step, "keep", stand),
    );
    if (!at) continue;
    const from = continuationAt(at.row, records);
    since(elapsedIn(records, from.beside));
    await recorder.commit([resumeOf(work, step, from.replay, inFlight(records))]);
    return { machine: at.machine, from };
  }
  const from = continuationFromStart(records);
  since(elapsedIn(records, null));
  await recorder.commit([resumeOf(work, null, from.replay, inFlight(records))]);
  const machine = await openAt(parts, stand, apart);
  if (machine.isWhole) return { machine, from };
  if (apart) await machine[Symbol.asyncDispose]();
  throw new RlmError("checkpoint_lost", "neither a checkpoint of the exec nor the state before it can be read", {
    suggestion:
      "Define the variables again that the cell needs, then run it again; memory, helpers and context are kept.",
  });
}

/** Keeps the end of an exec with its machine's state. False where the machine cannot give it: nothing is kept then. */
async function keptEnd(
  { recorder }: Work,
  machine: Machine,
  make: (facts: EndFacts) => Complete,
  steps: readonly string[],
): Promise<boolean> {
  try {
    await recorder.end(machine, recorder.head().context, make, steps);
    return true;
  } catch (error) {
    if (error instanceof RlmError && error.code === "machine_lost") return false;
    throw error;
  }
}

/** The state that stays after the machine was lost: the newest checkpoint that can be read. null: that before the exec. */
async function restored(work: Work, { state, end }: ExecEnd): Promise<Machine | null> {
  const { parts, recorder } = work;
  const { history } = recorder.head();
  const calls = history.last?.calls ?? [];
  await parts.guest.end();
  // Records that do not fit an image leave only what was there before them.
  const isLost = end.kind === "error" && end.code === "checkpoint_lost";
  for (const step of isLost ? [] : stepsOf({ calls })) {
    const at = await unlessLost(parts.guest.useStep(step, "drop", standOf(recorder.head())));
    if (!at) continue;
    const made = calls.findLastIndex(({ checkpoint_id }) => checkpoint_id === step) + 1;
    const settled = made - continuationAt(at.row, { calls, results: [] }).beside.waiting.length;
    warn(state, `state_restored: checkpoint ${step}, after ${settled} of ${calls.length} sub-calls`);
    return at.machine;
  }
  const before = history.checkpoint === null ? "a fresh guest" : `checkpoint ${history.checkpoint}`;
  warn(state, `state_restored: ${before}, after 0 of ${calls.length} sub-calls`);
  return null;
}

async function unlessLost<T>(opening: Promise<T>): Promise<T | null> {
  try {
    return await opening;
  } catch (error) {
    if (error instanceof RlmError && error.code === "checkpoint_lost") return null;
    throw error;
  }
}

export const standOf = ({ history, context }: Head): Stand => ({
  checkpoint: history.checkpoint,
  context,
  sources: history.sources,
});

function startOf(parts: ExecParts, { history }: Head, request: ExecRequest, exec_id: string): Start {
  return {
    record: "rlm_start",
    exec_id,
    kind: request.kind,
    input: inputOf(request),
    cell: "source" in request ? request.source : null,
    limits: request.kind === "cell" ? request.limits : {},
    helpers_hash: history.helpers_hash,
    rest: request.kind === "cell" ? (request.rest ?? []) : [],
    at: parts.clock.now(),
  };
}

function inputOf(request: ExecRequest): Json {
  if (request.kind === "query") return request.prompt;
  if (request.kind === "cell") return request.source;
  return JSON.parse(JSON.stringify(request.input));
}

function resumeOf({ parts, exec_id }: Work, checkpoint_id: string | null, replay: readonly unknown[], open: string[]) {
  const failed = parts.onRestart === "fail" ? open : [];
  return {
    record: "rlm_resume",
    exec_id,
    checkpoint_id,
    replayed: replay.length,
    resent: open.filter((id) => !failed.includes(id)),
    failed,
    at: parts.clock.now(),
  } as const;
}

/** The end of an exec as the recorder's head has it. */
function completeOf({ parts, recorder, exec_id, startedAt, events }: Work, fields: Partial<Complete>): Complete {
  const { history, context } = recorder.head();
  const last = history.last;
  return {
    record: "rlm_complete",
    exec_id,
    kind: last?.start.kind ?? "cell",
    success: true,
    error_code: null,
    error_message: null,
    end: null,
    state: null,
    events,
    call_count: last?.calls.length ?? 0,
    time_ms: parts.clock.monotonic() - startedAt,
    resumed: last?.resumed ?? 0,
    replayed_sub_calls: last?.replayed ?? 0,
    checkpoint_id: null,
    helpers_hash: history.helpers_hash,
    context_hash: context?.hash ?? null,
    at: parts.clock.now(),
    ...fields,
  };
}

function unstarted({ exec_id, recorder }: Work, { limits }: ExecParts): ExecState {
  const cell = recorder.head().history.cells + 1;
  return { exec_id, cell, limits, output: noOutput(), warnings: [], running_ms: 0, next_call: 1 };
}

function failureOf(error: unknown): { code: string; message: string } {
  if (error instanceof RlmError) return error;
  return { code: "machine_lost", message: error instanceof Error ? error.message : String(error) };
}

/** The cell has ended, and the store did not take it: the exec can be finished once the store works. */
function notKept(error: unknown): CellEnd {
  const { code, message } = failureOf(error);
  return placeless(
    isErrorCode(code) && code === "session_busy" ? code : "checkpoint_failed",
    "CheckpointError",
    `the exec's end could not be recorded: ${message}`,
    "Free space or check the store's folder, then resume the session: it goes on from the last checkpoint.",
  );
}
