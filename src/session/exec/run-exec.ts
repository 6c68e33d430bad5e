import { type CellEnd, clampLimits, hasCode, type Json } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { joinSignals } from "../../platform/signals.ts";
import { interruptedIn, positionOf } from "../journal/account.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import type { Machine } from "../machine/guest.ts";
import type { SessionParts } from "../parts.ts";
import { giveUpCalls, stepsOf } from "./interrupted.ts";
import { keepEnd } from "./keep-end.ts";
import { openRecorder } from "./recorder.ts";
import type { CommandRequest, ExecAsked, ExecRequest, LoadRequest } from "./work.ts";
import { completeOf, failureOf, resumeOf, startOf, unstarted, type Work } from "./work.ts";

/** Changes the memory or the helpers: an exec that makes no calls. Returns what the guest does. */
export function runCommand(
  setup: SessionParts,
  request: CommandRequest,
  interrupted: ExecRecords | null = null,
): Promise<Json> {
  return runAtOnce(setup, request, interrupted, (work) => enter(work, request));
}

/** Suspends the work once another process may have the session. @throws RlmError `lease_lost` */
export async function whileLeased<T>(
  setup: SessionParts,
  asked: ExecAsked,
  work: (asked: ExecAsked) => Promise<T>,
): Promise<T> {
  const { lost } = setup.row;
  if (!lost) return work(asked);
  using suspend = joinSignals(asked.suspend, lost);
  try {
    return await work({ ...asked, suspend: suspend.signal });
  } finally {
    // Whatever became of the exec here, another process may have continued it.
    if (lost.aborted) {
      await setup.guest.end();
      lost.throwIfAborted();
    }
  }
}

/** Execs that make no calls. If the process ends within one, nothing of it is left, and it is done again. */
export async function runAtOnce<T>(
  setup: SessionParts,
  request: LoadRequest | CommandRequest,
  interrupted: ExecRecords | null,
  exec: (work: Work) => Promise<T>,
): Promise<T> {
  return whileLeased(setup, {}, async () => {
    const work = await beginExec(setup, request, interrupted);
    if (interrupted) await work.recorder.commit([resumeOf(work, null, [], [])]);
    try {
      return await exec(work);
    } catch (error) {
      if (hasCode(error, "machine_lost")) await setup.guest.end();
      const { code, message } = failureOf(error);
      await work.recorder.commit([completeOf(work, { success: false, error_code: code, error_message: message })]);
      throw error;
    }
  });
}

/** ▣ Keeps the start of an exec. One that was interrupted has it already. */
export async function beginExec(
  setup: SessionParts,
  request: ExecRequest,
  interrupted: ExecRecords | null,
  history?: Context,
): Promise<Work> {
  const work = openWork(setup, interrupted?.start.exec_id ?? setup.env.newId());
  if (!interrupted) await work.recorder.commit([startOf(setup, request, work.exec_id, history)]);
  return work;
}

/**
 * Ends the exec that was interrupted as cancelled, if there is one, and the children of its open calls, which are charged to it.
 * The session's state is that before the exec.
 */
export async function giveUpInterrupted(setup: SessionParts): Promise<void> {
  const interrupted = interruptedIn(setup.state().account);
  if (!interrupted) return;
  await setup.guest.end();
  const { exec_id, kind, cell, limits } = interrupted.start;
  const charged = await giveUpCalls(setup, interrupted);
  const work = openWork(setup, exec_id);
  const state = cell === null ? null : { ...unstarted(work), limits: clampLimits(setup.rules.limits, limits) };
  const end: CellEnd | null = cell === null ? null : { kind: "cancelled" };
  const complete = completeOf(work, { kind, success: false, error_code: "cancelled", end, state });
  await work.recorder.commit([...charged, complete], { drop: setup.rules.keepSteps ? [] : stepsOf(interrupted) });
}

/** The work of an exec that begins or continues. */
export function openWork(setup: SessionParts, exec_id: string): Work {
  const recorder = openRecorder(setup, exec_id);
  return { setup, recorder, exec_id, startedAt: setup.patience.time.monotonic(), events: [] };
}

async function enter(work: Work, { kind, input }: CommandRequest): Promise<Json> {
  const state = work.recorder.state();
  const machine = await work.setup.guest.use(positionOf(state));
  const value = await machine.sandbox.enter(kind, input);
  await keepEndOrDrop(work, machine, state.context);
  return value;
}

/** ▣ Keeps the end of an exec that made no calls. */
export async function keepEndOrDrop(work: Work, machine: Machine, context: Context | null): Promise<void> {
  try {
    await keepEnd(work, machine, context, {});
  } catch (error) {
    // The machine has what the session has not.
    await work.setup.guest.end();
    throw error;
  }
}
