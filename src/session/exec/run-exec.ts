import {
  type CellEnd,
  type ExecSignals,
  isErrorCode,
  type Json,
  type Over,
  placeless,
  RlmError,
} from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { readQueryResult } from "../../query/index.ts";
import type { ExecOptions } from "../api.ts";
import { keepContext } from "../contexts/contexts.ts";
import type { ExecRecords } from "../journal/account.ts";
import { codeOf, queryCodeOf } from "../journal/envelope.ts";
import type { CellComplete, Complete } from "../journal/records.ts";
import type { Machine } from "../machine/guest.ts";
import { warn } from "./ends.ts";
import type { CellRun } from "./exec-journal.ts";
import { stepsOf } from "./interrupted.ts";
import { type EndFacts, openRecorder, type SessionState } from "./recorder.ts";
import { openAt, positionOf, reopen, restored } from "./reopening.ts";
import { runCell } from "./run-cell.ts";
import { completeOf, type ExecParts, type ExecRequest, resumeOf, startOf, unstarted, type Work } from "./work.ts";

/** What an exec gives its caller. The new session state goes to `moved`. */
export type ExecOutcome =
  | {
      readonly kind: "cell" | "query";
      readonly complete: CellComplete;
      /** It is not over: it was suspended, or its end could not be kept. `complete` is in no journal. */
      readonly unfinished: boolean;
    }
  | { readonly kind: "load" | "append"; readonly context: Context }
  | { readonly kind: "memory" | "helpers"; readonly value: Json };

/** How an exec can be ended, and who takes its whole result. */
export type ExecAsked = ExecSignals & Pick<ExecOptions, "deliver">;

type CellRequest = Extract<ExecRequest, { kind: "cell" | "query" }>;

/**
 * One exec: `(state, request) → state'`. Its start is kept before it does anything; its end, in one commit with the state
 * that it leaves, before it answers. A cell that fails is an outcome. Rejects where the caller asked for something that
 * cannot be done, or where the store fails; the session's state is then what the store has.
 *
 * @param interrupted the records of an exec that has begun and not ended: it is finished in place of a new one
 */
export async function runExec(
  parts: ExecParts,
  before: SessionState,
  request: ExecRequest,
  signals: ExecAsked = {},
  interrupted: ExecRecords | null = null,
): Promise<ExecOutcome> {
  const exec_id = interrupted?.start.exec_id ?? parts.newId();
  const recorder = openRecorder(parts, exec_id, before);
  if (!interrupted) await recorder.commit([startOf(parts, before, request, exec_id)]);
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
export async function discard(parts: ExecParts, before: SessionState, { start, calls }: ExecRecords): Promise<void> {
  const { exec_id, kind, cell, limits } = start;
  const recorder = openRecorder(parts, exec_id, before);
  const work: Work = { parts, recorder, exec_id, startedAt: parts.clock.monotonic(), events: [] };
  const state = cell === null ? null : { ...unstarted(work), limits: { ...parts.limits, ...limits } };
  const end: CellEnd | null = cell === null ? null : { kind: "cancelled" };
  const complete = completeOf(work, { kind, success: false, error_code: "cancelled", end, state });
  await recorder.commit([complete], { drop: parts.keepSteps ? [] : stepsOf({ calls }) });
}

/** Kinds that make no calls: what interrupts them leaves nothing behind, and they are done again. */
async function execAtOnce(work: Work, request: Exclude<ExecRequest, CellRequest>): Promise<ExecOutcome> {
  const { parts, recorder } = work;
  const { context } = recorder.state();
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
      // An image is opened with the context that it was made with. Its guest is then told of the longer one.
      await parts.guest.use(positionOf(recorder.state()));
      await end(await parts.guest.use({ ...positionOf(recorder.state()), context: loaded }), loaded);
      return { kind: "append", context: loaded };
    }
    default: {
      const machine = await parts.guest.use(positionOf(recorder.state()));
      const value = await machine.sandbox.enter(request.kind, request.input);
      await end(machine, context);
      return { kind: request.kind, value };
    }
  }
}

async function execCell(
  work: Work,
  request: CellRequest,
  { deliver, ...signals }: ExecAsked,
  interrupted: ExecRecords | null,
): Promise<{ complete: CellComplete; unfinished: boolean }> {
  const { parts, recorder } = work;
  const { account } = recorder.state();
  const isScratch = request.kind === "query";
  let machine: Machine | undefined;
  let ended: Over;
  try {
    const opened = interrupted
      ? await reopen(work, interrupted, isScratch)
      : { machine: await openAt(parts, positionOf(recorder.state()), isScratch), from: null };
    machine = opened.machine;
    const run: CellRun = {
      exec_id: work.exec_id,
      cell: isScratch ? 0 : account.cells + 1,
      startedAt: work.startedAt,
      events: work.events,
      account: () => recorder.state().account,
      commit: (records, cache) => recorder.commit(records, cache ? { cache } : {}),
      step: recorder.step,
    };
    const asked = request.kind === "cell" ? request : { source: request.source, limits: {} };
    const wantsWhole = deliver !== undefined;
    ended = await runCell(parts, run, machine, { ...asked, wantsWhole }, signals, opened.from);
  } catch (error) {
    if (machine && isScratch) await machine[Symbol.asyncDispose]();
    if (!(error instanceof RlmError)) throw error;
    const { code, message, suggestion } = error;
    ended = {
      kind: "over",
      state: unstarted(work),
      end: placeless(code, "Error", message, suggestion),
      lost: machine ? message : null,
      whole: null,
      asides: [],
    };
  }
  for (const warning of machine?.takeWarnings() ?? []) warn(ended.state, warning);
  const { end, state } = ended;
  const code = isScratch ? queryCodeOf(end) : codeOf(end);
  const fields = { success: code === null, error_code: code, end, state };
  if (signals.suspend?.aborted && ended.lost !== null) {
    if (isScratch) await machine?.[Symbol.asyncDispose]();
    else await parts.guest.end();
    return { complete: { ...completeOf(work, fields), end, state }, unfinished: true };
  }
  const steps = parts.keepSteps ? [] : stepsOf(recorder.state().account.last ?? { calls: [] });
  let complete: Complete | undefined;
  const make = (facts: Partial<EndFacts>) => {
    complete = completeOf(work, { ...fields, ...facts });
    return complete;
  };
  try {
    // No guest code runs after this, so it is all of the result. What fails here leaves the exec to be resumed.
    const whole = code === null && ended.whole !== null ? deliveredOf(request.kind, ended.whole) : null;
    if (deliver && whole !== null) await deliver(whole);
    if (isScratch) {
      await machine?.[Symbol.asyncDispose]();
      await recorder.endUnchanged(make, steps);
    } else {
      const keep = (standing: Machine) => keptEnd(work, standing, make, steps);
      const kept = machine && ((ended.lost === null && (await keep(machine))) || (await restored(work, ended, keep)));
      if (!kept) await recorder.commit([make({})], { drop: steps });
    }
    return { complete: { ...(complete ?? completeOf(work, fields)), end, state }, unfinished: false };
  } catch (error) {
    if (isScratch) await machine?.[Symbol.asyncDispose]();
    else await parts.guest.end();
    const failed = notKept(error);
    const open = { success: false, error_code: codeOf(failed), state };
    return { complete: { ...completeOf(work, open), end: failed, state }, unfinished: true };
  }
}

/** JSON of what was asked for: of a query only the answer, null if it has none. */
function deliveredOf(kind: CellRequest["kind"], whole: string): string | null {
  if (kind !== "query") return whole;
  const { answer, error } = readQueryResult(JSON.parse(whole));
  return error || answer === null ? null : JSON.stringify(answer);
}

/** Keeps the end of an exec with its machine's state. False where the machine cannot give it: nothing is kept then. */
async function keptEnd(
  { recorder }: Work,
  machine: Machine,
  make: (facts: EndFacts) => Complete,
  steps: readonly string[],
): Promise<boolean> {
  try {
    await recorder.end(machine, recorder.state().context, make, steps);
    return true;
  } catch (error) {
    if (error instanceof RlmError && NOT_TO_KEEP.has(error.code)) return false;
    throw error;
  }
}

/** Of a machine that is gone, or in which no other cell could run. */
const NOT_TO_KEEP: ReadonlySet<string> = new Set(["machine_lost", "memory_limit_exceeded"]);

function failureOf(error: unknown): { code: string; message: string } {
  if (error instanceof RlmError) return error;
  return { code: "machine_lost", message: error instanceof Error ? error.message : String(error) };
}

/** The cell has ended, and the store did not take it: the exec can be finished once the store works. */
function notKept(error: unknown): CellEnd {
  if (error instanceof RlmError && error.code === "output_failed") {
    return placeless(error.code, "OutputError", error.message, error.suggestion);
  }
  const { code, message } = failureOf(error);
  return placeless(
    isErrorCode(code) && code === "session_busy" ? code : "checkpoint_failed",
    "CheckpointError",
    `the exec's end could not be recorded: ${message}`,
    "Free space or check the store's folder, then resume the session: it goes on from the last checkpoint.",
  );
}
