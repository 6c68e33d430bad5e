import type { Answer, ExecSignals, Over } from "../../../runtime/index.ts";
import { joinSignals } from "../../platform/signals.ts";
import { notRecorded } from "./ends.ts";
import { openInFlight } from "./in-flight.ts";
import type { Beginning, LoopParts } from "./ports.ts";
import { begin } from "./replay.ts";

/**
 * Runs an exec to its end, in the order of docs/durability.md. Nothing is sent before the step that waits for it is kept, and
 * the guest gets no answer that is not kept. `signal` and a commit that fails end the exec as soon as its guest is at
 * rest; `suspend` ends the machine, and nothing is kept from then on.
 */
export async function runLoop(
  parts: LoopParts,
  beginning: Beginning,
  { signal, suspend }: ExecSignals = {},
): Promise<Over> {
  const { machine, journal, calls, parking } = parts;
  const broken = new AbortController();
  using cancelled = joinSignals(broken.signal, signal);
  using stopped = joinSignals(cancelled.signal, suspend);
  const stop = stopped.signal;
  // Only what is kept enters the queue of answers.
  const inFlight = openInFlight(parts, { failed: (error) => broken.abort(error), stop, suspend });
  const settle = (answers: readonly Answer[], image: boolean) =>
    machine.settle(answers, calls.facts(), image ? journal.nextImage() : null);

  const until = { cancel: cancelled.signal, suspend, stop };
  let slice = await begin(machine, beginning, { ...until, settle, image: journal.nextImage });
  while (slice.kind === "waiting") {
    const isKept = await inFlight.unlessStopped(journal.keepStep, slice); // ▣ image + rlm_tool_call, one commit
    if (isKept) {
      inFlight.send(slice.calls); // only now
      machine.lend?.();
    }
    const answers = await parking.idle(inFlight.next); // at least one, or the exec is to stop
    slice = stop.aborted ? await machine.stop() : await settle(answers, true);
  }
  await inFlight.callOff(suspend?.aborted ? SUSPEND_MS : (calls.callOffMs() ?? CALL_OFF_MS));
  return broken.signal.aborted ? { ...slice, end: notRecorded(broken.signal.reason) } : slice;
}

/** Time that calls may take to end when they are aborted. */
const CALL_OFF_MS = 1000;
const SUSPEND_MS = 500;
