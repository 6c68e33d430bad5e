import { cutExec, endExec, thrownEnd } from "./end-exec.ts";
import { neverSettles, parseThrown, resultEnd } from "./ends.ts";
import { listOf, step } from "./enter.ts";
import type { Guest } from "./guest.ts";
import type { Answer, CallError, Ended, Json, ResumeInput, Settlement, SliceEnd } from "./protocol.ts";
import { addWarning, beginExec, keepLibraryState, type Running } from "./running.ts";

/** Continues the exec that waits in the image. Runs nothing: the guest still waits for its calls. */
export function resumeExec({ library, running, scripts }: Guest, input: ResumeInput): SliceEnd {
  beginExec(running, input);
  library.exec?.resume(input.state.library ?? null);
  for (const { id } of input.waiting) running.outstanding.add(id);
  if (input.state.cell > 0) scripts.remember(input.state.cell, input.source);
  return { kind: "idle", calls: [], state: running.state };
}

/** Gives calls their answers, in this order. Jobs of one answer run before the next answer is given. */
export function settle(guest: Guest, answers: readonly Answer[], facts: Json): SliceEnd {
  const { running } = guest;
  running.facts = facts;
  running.fresh = [];
  startClock(guest);
  for (const { id, settlement } of answers) {
    // A cell that is done ignores further answers, whether they came together or one by one.
    if (running.done) break;
    deliver(guest, id, settlement);
    if (!runJobs(guest)) return cutExec(guest);
  }
  return runToRest(guest);
}

/** Ends an exec that waits for calls, as cancelled: the host has set the `cancel` word. */
export function stopExec(guest: Guest): Ended {
  startClock(guest);
  guest.clock.shouldStop();
  return cutExec(guest);
}

/** Continues the exec's running time, which paused when its last slice ended. */
export function startClock({ clock, running: { state } }: Pick<Guest, "clock" | "running">): void {
  clock.start(state.running_ms, state.limits.max_execution_ms);
}

/** Runs jobs until none is left. The guest then waits for calls, or its exec is over. */
export function runToRest(guest: Guest): SliceEnd {
  const { clock, heap, running } = guest;
  if (!runJobs(guest)) return cutExec(guest);
  if (running.done) return finishCell(guest, running.done);
  if (running.fresh.length > 0 || running.outstanding.size > 0) {
    running.state.running_ms = clock.pause();
    keepLibraryState(guest, null);
    if (running.fault) throw running.fault;
    return { kind: "idle", calls: running.fresh, state: running.state };
  }
  return endExec(guest, heap.isFull() ? heap.fullEnd() : neverSettles());
}

/** Returns false if the exec ran out of time or was cancelled. */
function runJobs({ engine, clock }: Guest): boolean {
  for (let ran = 0; ; ran++) {
    if (ran % JOBS_BETWEEN_LOOKS === 0) clock.shouldStop();
    if (clock.stopped()) return false;
    if (engine.runJob() === "empty") return true;
  }
}

const JOBS_BETWEEN_LOOKS = 64;

function deliver(guest: Guest, id: string, settlement: Settlement): void {
  if (!guest.running.outstanding.delete(id)) return;
  step(guest, "settle", settlement.ok ? { id, value: settlement.value } : { id, error: { ...settlement.error } });
}

/** Ends the exec of a cell that is done. Calls that the cell did not await are refused, and their callbacks run once more. */
function finishCell(guest: Guest, done: NonNullable<Running["done"]>): Ended {
  const { running } = guest;
  const warn = (text: string) => addWarning(running, text);
  for (const message of listOf(step(guest, "unhandled", null))) warn(`unhandled_rejection: ${String(message)}`);
  if (running.outstanding.size > 0) {
    warn(`unawaited_sub_calls: ${running.outstanding.size}`);
    running.refusal = NOT_AWAITED;
    for (const id of [...running.outstanding]) deliver(guest, id, { ok: false, error: NOT_AWAITED });
    running.fresh = [];
    if (!runJobs(guest)) return cutExec(guest);
  }
  if (!done.ok) return endExec(guest, thrownEnd(guest, parseThrown(done.payload)));
  const { end, whole } = resultEnd(done.payload, running, warn);
  return endExec(guest, end, whole);
}

const NOT_AWAITED: CallError = {
  name: "Error",
  code: "not_awaited",
  message: "the cell ended before this call was awaited",
  suggestion: "Await every call, for instance with `await Promise.all(calls)`.",
};
