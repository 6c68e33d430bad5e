import { type CellEnd, RlmError } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { joinSignals } from "../../platform/signals.ts";
import { keepContext } from "../contexts/contexts.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import type { Machine } from "../machine/machines.ts";
import type { Setup } from "../setup.ts";
import { execCell } from "./cell.ts";
import { failureOf } from "./ends.ts";
import { giveUpCalls, stepsOf } from "./interrupted.ts";
import { keepEnd } from "./keep-end.ts";
import { openRecorder } from "./recorder.ts";
import type { ExecAsked, ExecOutcome, ExecRequest } from "./request.ts";
import { positionOf } from "./session-state.ts";
import { completeOf, resumeOf, startOf, unstarted, type Work } from "./work.ts";

/**
 * One exec: `(state, request) → state'`. Its start is kept before it does anything. Its end is kept before it answers, in
 * one commit with the state that it leaves. A cell that fails is an outcome. Rejects if the caller asked for something
 * that cannot be done, if the store fails or if the lease is lost; the session's state is then what the store has.
 *
 * @param interrupted the records of an exec that has begun and not ended: it is finished in place of a new one
 */
export async function runExec(
  setup: Setup,
  request: ExecRequest,
  asked: ExecAsked = {},
  interrupted: ExecRecords | null = null,
): Promise<ExecOutcome> {
  return whileLeased(setup, asked, (signals) => runLeased(setup, request, signals, interrupted));
}

/** Suspends the work once another process may have the session. @throws RlmError `lease_lost` */
export async function whileLeased<T>(
  setup: Setup,
  asked: ExecAsked,
  work: (asked: ExecAsked) => Promise<T>,
): Promise<T> {
  const { lost } = setup.row;
  if (!lost) return work(asked);
  using suspend = joinSignals(asked.suspend, lost);
  try {
    return await work({ ...asked, suspend: suspend.signal });
  } finally {
    await throwIfLost(setup, lost);
  }
}

/** Whatever became of the exec here, another process may have gone on with it. @throws RlmError `lease_lost` */
async function throwIfLost({ guest }: Setup, lost: AbortSignal): Promise<void> {
  if (!lost.aborted) return;
  await guest.end();
  lost.throwIfAborted();
}

async function runLeased(
  setup: Setup,
  request: ExecRequest,
  asked: ExecAsked,
  interrupted: ExecRecords | null,
): Promise<ExecOutcome> {
  const work = openWork(setup, interrupted?.start.exec_id ?? setup.env.newId());
  const { recorder, exec_id } = work;
  if (!interrupted) await recorder.commit([startOf(setup, request, exec_id, asked)]);
  if (request.kind === "cell" || request.kind === "query") return execCell(work, request, asked, interrupted);
  if (interrupted) await recorder.commit([resumeOf(work, null, [], [])]);
  try {
    return await execAtOnce(work, request);
  } catch (error) {
    if (error instanceof RlmError && error.code === "machine_lost") await setup.guest.end();
    const { code, message } = failureOf(error);
    await recorder.commit([completeOf(work, { success: false, error_code: code, error_message: message })]);
    throw error;
  }
}

/**
 * Ends an interrupted exec as cancelled, and the children of its open calls, which are charged to it. The session's state is
 * that before the exec.
 */
export async function discard(setup: Setup, records: ExecRecords): Promise<void> {
  const { start, calls } = records;
  const { exec_id, kind, cell, limits } = start;
  const charged = await giveUpCalls(setup, records);
  const work = openWork(setup, exec_id);
  const state = cell === null ? null : { ...unstarted(work), limits: { ...setup.rules.limits, ...limits } };
  const end: CellEnd | null = cell === null ? null : { kind: "cancelled" };
  const complete = completeOf(work, { kind, success: false, error_code: "cancelled", end, state });
  await work.recorder.commit([...charged, complete], { drop: setup.rules.keepSteps ? [] : stepsOf({ calls }) });
}

/** The work of an exec that begins or goes on. */
export function openWork(setup: Setup, exec_id: string): Work {
  const recorder = openRecorder(setup, exec_id);
  return { setup, recorder, exec_id, startedAt: setup.env.clock.monotonic(), events: [] };
}

/** Execs that make no calls. If the process ends within one, nothing of it is left, and it is done again. */
async function execAtOnce(
  work: Work,
  request: Exclude<ExecRequest, { kind: "cell" | "query" | "turn" }>,
): Promise<ExecOutcome> {
  const { setup, recorder } = work;
  const { context } = recorder.state();
  const end = async (machine: Machine, after: Context | null) => {
    try {
      await keepEnd(work, machine, { context: after, fields: {}, drop: [] });
    } catch (error) {
      // The machine has what the session has not.
      await setup.guest.end();
      throw error;
    }
  };
  switch (request.kind) {
    case "load": {
      const loaded = await request.read(null);
      await keepContext(setup.env.store, loaded);
      await setup.guest.reset();
      await end(await setup.guest.use({ checkpoint: null, context: loaded, sources: [] }), loaded);
      return { kind: "load", context: loaded };
    }
    case "append": {
      const loaded = await request.read(context);
      await keepContext(setup.env.store, loaded);
      // An image is opened with the context that it was made with. Its guest is then told of the longer one.
      await setup.guest.use(positionOf(recorder.state()));
      await end(await setup.guest.use({ ...positionOf(recorder.state()), context: loaded }), loaded);
      return { kind: "append", context: loaded };
    }
    default: {
      const machine = await setup.guest.use(positionOf(recorder.state()));
      const value = await machine.sandbox.enter(request.kind, request.input);
      await end(machine, context);
      return { kind: request.kind, value };
    }
  }
}
