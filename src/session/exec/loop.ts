import type { Answer, Clock, ExecSignals, Over, Settlement } from "../../../runtime/index.ts";
import { joinSignals } from "../../platform/signals.ts";
import type { Parking } from "../parking.ts";
import { notRecorded } from "./ends.ts";
import { openInFlight } from "./in-flight.ts";
import type { Beginning, LoopCalls, LoopJournal, LoopMachine } from "./ports.ts";
import { begin } from "./replay.ts";

export interface LoopParts<Answered> {
  readonly machine: LoopMachine;
  readonly journal: LoopJournal<Answered>;
  readonly calls: LoopCalls<Answered>;
  readonly clock: Clock;
  /** Learns what can get further. Absent: nobody has to know. */
  readonly parking?: Pick<Parking, "active" | "idle">;
}

/**
 * Runs an exec to its end, in the order of docs/durability.md. Nothing is sent before the step that waits for it is kept, and
 * the guest gets no answer that is not kept. `signal` and a commit that fails end the exec as soon as its guest is at
 * rest; `suspend` ends the machine, and nothing is kept from then on.
 */
export async function runLoop<Answered extends { readonly settlement: Settlement }>(
  { machine, journal, calls, clock, parking }: LoopParts<Answered>,
  beginning: Beginning,
  { signal, suspend }: ExecSignals = {},
): Promise<Over> {
  const broken = new AbortController();
  using cancelled = joinSignals(broken.signal, signal);
  using stopped = joinSignals(cancelled.signal, suspend);
  const stop = stopped.signal;
  const { active, idle } = parking ?? { active: (work) => work(), idle: (wait) => wait() };
  const inFlight = openInFlight<Answered>({
    active, // until its answer is kept
    answer: calls.answer,
    keep: journal.keepResult, // ▣ rlm_tool_result, as each answer comes: only what is kept enters the queue
    failed: (error) => broken.abort(error),
    stop,
    suspend,
  });
  const settle = (answers: readonly Answer[], image: boolean) =>
    machine.settle(answers, calls.facts(), image ? journal.nextImage() : null);

  let slice = await begin(machine, beginning, {
    cancel: cancelled.signal,
    suspend,
    stop,
    settle,
    image: journal.nextImage,
  });
  while (slice.kind === "waiting") {
    const isKept = await inFlight.unlessStopped(journal.keepStep, slice); // ▣ image + rlm_tool_call, one commit
    if (isKept) {
      inFlight.send(slice.calls); // only now
      machine.lend?.();
    }
    const answers = await idle(inFlight.next); // at least one, or the exec is to stop
    slice = stop.aborted ? await machine.stop() : await settle(answers, true);
  }
  await inFlight.callOff(clock, suspend?.aborted ? SUSPEND_MS : (calls.callOffMs?.() ?? CALL_OFF_MS));
  return broken.signal.aborted ? { ...slice, end: notRecorded(broken.signal.reason) } : slice;
}

/** Time that calls may take to end when they are aborted. */
const CALL_OFF_MS = 1000;
const SUSPEND_MS = 500;
