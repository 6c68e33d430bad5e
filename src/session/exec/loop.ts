import type {
  Answer,
  CheckpointRequest,
  Clock,
  ExecSignals,
  Over,
  PendingCall,
  Slice,
} from "../../../runtime/index.ts";
import { joinSignals } from "../../platform/signals.ts";
import { sleep } from "../../platform/sleep.ts";
import { notRecorded, recordsDoNotFit } from "./ends.ts";
import { type InFlight, openInFlight } from "./in-flight.ts";
import type { Beginning, LoopMachine, LoopParts, Replayed } from "./ports.ts";

/**
 * Runs an exec to its end, in the order of docs/durability.md. Nothing is sent before the step that waits for it is kept, and
 * the guest gets no answer that is not kept. `signal` and a commit that fails end the exec as soon as its guest is at
 * rest; `suspend` ends the machine, and from then on only the answers of functions that must not run twice are kept.
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
  const failed = (error: unknown) => broken.abort(error);
  // Only what is kept enters the queue of answers.
  const inFlight = openInFlight(parts, { failed, stop, cancelled: cancelled.signal, suspend });
  const settle = (answers: readonly Answer[], image: boolean) =>
    machine.settle(answers, calls.facts(), image ? journal.nextImage() : null);

  const signals = { signal: cancelled.signal, suspend };
  let slice = await begin(machine, beginning, { signals, stop, settle, image: journal.nextImage });
  while (slice.kind === "waiting") {
    const isKept = await inFlight.unlessStopped(journal.keepStep, slice); // ▣ image + rlm_tool_call, one commit
    if (isKept) {
      inFlight.send(slice.calls); // only now
      machine.lend?.();
    }
    const answers = await parking.idle(inFlight.next); // at least one, or the exec is to stop
    slice = stop.aborted ? await machine.stop() : await settle(answers, true);
  }
  if (suspend?.aborted) await endSuspended(parts, inFlight, { failed, cancelled: cancelled.signal });
  else await inFlight.callOff(calls.callOffMs() ?? CALL_OFF_MS);
  return broken.signal.aborted ? { ...slice, end: notRecorded(broken.signal.reason) } : slice;
}

interface SuspendedParts {
  failed(error: unknown): void;
  readonly cancelled: AbortSignal;
}

/** Waits for the answers of what must not run twice, calls off the rest, and keeps which calls of that kind still run. */
async function endSuspended(
  { clock, journal, once }: LoopParts,
  inFlight: InFlight,
  { failed, cancelled }: SuspendedParts,
): Promise<void> {
  const since = clock.monotonic();
  const { begun, running, answered } = inFlight.held();
  if (running.length > 0) await within(clock, once.waitMs(running), answered, cancelled);
  await inFlight.callOff(SUSPEND_MS);
  const still_running = once.left(begun);
  if (still_running.length === 0) return;
  const keeping = journal.keepSuspend({ still_running, waited_ms: clock.monotonic() - since }); // ▣ rlm_suspend
  await within(clock, SUSPEND_MS, keeping.catch(failed));
}

/** Waits for work up to `ms`, unless the signal aborts. */
async function within(clock: Clock, ms: number, work: Promise<unknown>, unless?: AbortSignal): Promise<void> {
  const done = new AbortController();
  using over = joinSignals(done.signal, unless);
  await Promise.race([work, sleep(clock, ms, over.signal)]);
  done.abort();
}

/** Time that calls may take to end when they are aborted. */
const CALL_OFF_MS = 1000;
/** The same in an exec that is suspended, and the time for the record of what it leaves. */
const SUSPEND_MS = 500;

interface BeginParts {
  readonly signals: ExecSignals;
  readonly stop: AbortSignal;
  settle(answers: readonly Answer[], image: boolean): Promise<Slice>;
  image(): CheckpointRequest | null;
}

/**
 * Starts or resumes the exec and gives it its recorded answers, each by itself as it was given at first. The slice that comes
 * out has all calls that still want an answer. Only what follows the last recorded answer is new, so no earlier image is taken.
 */
export async function begin(machine: LoopMachine, from: Beginning, parts: BeginParts): Promise<Slice> {
  const { signals, stop, settle, image } = parts;
  let slice =
    from.kind === "resume"
      ? await machine.resume(from.input, signals)
      : await machine.start(from.input, from.replay.length > 0 ? null : image(), signals);
  const open = new Map<string, PendingCall>();
  for (const [index, recorded] of from.replay.entries()) {
    if (slice.kind === "over" || stop.aborted) return slice;
    for (const call of slice.calls) open.set(call.id, call);
    const misfit = misfitOf(recorded, open.get(recorded.id));
    if (misfit !== undefined) {
      await machine.end(misfit);
      return { kind: "over", end: recordsDoNotFit(misfit), state: slice.state, lost: misfit, whole: null, asides: [] };
    }
    open.delete(recorded.id);
    slice = await settle([recorded], index === from.replay.length - 1);
  }
  return slice.kind === "over" ? slice : { ...slice, calls: [...open.values(), ...slice.calls].sort(byNumber) };
}

/** Why a recorded answer cannot be given to the guest. */
function misfitOf(recorded: Replayed, call: PendingCall | undefined): string | undefined {
  if (!call) return `the cell did not make the recorded call ${recorded.id} (${recorded.name})`;
  if (call.name !== recorded.name) return `call ${call.id} is ${call.name}, recorded was ${recorded.name}`;
  if (JSON.stringify(call.args) === JSON.stringify(recorded.args)) return undefined;
  return `the arguments of call ${call.id} (${call.name}) are not those that were recorded`;
}

const byNumber = (a: PendingCall, b: PendingCall) => numberOf(a) - numberOf(b);
const numberOf = ({ id }: PendingCall) => Number(id.slice(id.lastIndexOf(".") + 1));
