import type { Answer, Clock, ExecSignals, Over, PendingCall, Slice, SliceImage } from "../../../runtime/index.ts";
import { type CellEnd, placeless } from "../../../runtime/index.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { joinSignals, settledOrAborted, sleep } from "../../platform/signals.ts";
import type { Beginning, LoopMachine, LoopParts, Replayed } from "./ports.ts";
import { notRecorded } from "./work.ts";

/**
 * Runs an exec to its end, in the order of docs/order-of-writes.md. Nothing is sent before the step that waits for it is kept, and
 * the guest gets no answer that is not kept. `signal` and a commit that fails end the exec as soon as its guest is at
 * rest; `suspend` ends the machine, and from then on only the answers of functions that must not run twice are kept.
 */
export async function runLoop(
  parts: LoopParts,
  beginning: Beginning,
  { signal, suspend }: ExecSignals = {},
): Promise<Over> {
  const { machine, journal, calls, suspension } = parts;
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
    parts.printed?.(slice.state);
    const isKept = await inFlight.unlessStopped(journal.keepStep, slice); // ▣ image + rlm_tool_call, one commit
    if (isKept) {
      inFlight.send(slice.calls); // only now
      const isAnswered = journal.keepLateImage && (await inFlight.answersWithin(LATE_IMAGE_MS));
      if (journal.keepLateImage && !isAnswered) await inFlight.unlessStopped(journal.keepLateImage, slice); // ▣ image
      if (!isAnswered) machine.release?.({ input: beginning.input, state: slice.state, signals });
    }
    const answers = await suspension.idle(inFlight.next); // at least one, or the exec is to stop
    slice = stop.aborted ? await machine.stop() : await settle(answers, true);
  }
  parts.printed?.(slice.state);
  if (suspend?.aborted) await endSuspended(parts, inFlight, { failed, cancelled: cancelled.signal });
  else await inFlight.callOff(calls.callOffMs() ?? CALL_OFF_MS);
  return broken.signal.aborted ? { ...slice, end: notRecorded(broken.signal.reason) } : slice;
}

interface SuspendedParts {
  failed(error: unknown): void;
  readonly cancelled: AbortSignal;
}

/**
 * Waits for the answers of what must not run twice, calls off the rest, and keeps which calls of that kind still run, and what calls
 * wait for.
 */
async function endSuspended(
  { clock, journal, once, waitsFor }: LoopParts,
  inFlight: InFlight,
  { failed, cancelled }: SuspendedParts,
): Promise<void> {
  const since = clock.monotonic();
  const { begun, running, answered } = inFlight.held();
  if (running.length > 0) await within(clock, once.waitMs(running), answered, cancelled);
  await inFlight.callOff(SUSPEND_MS);
  const still_running = once.left(begun);
  const waits_for = waitsFor?.() ?? undefined;
  if (still_running.length === 0 && !waits_for) return;
  const waited_ms = clock.monotonic() - since;
  const keeping = journal.keepSuspend({ still_running, waited_ms, ...withoutUndefined({ waits_for }) }); // ▣ rlm_suspend
  await within(clock, SUSPEND_MS, keeping.catch(failed));
}

/** Waits for work up to `ms`, unless the signal aborts. */
async function within(clock: Clock, ms: number, work: Promise<unknown>, unless?: AbortSignal): Promise<void> {
  const done = new AbortController();
  using over = joinSignals(done.signal, unless);
  await Promise.race([work, sleep(clock, ms, over.signal)]);
  done.abort();
}

/** Time for which a guest waits before its image is kept, if it comes late. With calls that are answered at once none is needed. */
const LATE_IMAGE_MS = 5;
/** Time that calls may take to end when they are aborted. */
const CALL_OFF_MS = 1000;
/** The same in an exec that is suspended, and the time for the record of what it leaves. */
const SUSPEND_MS = 500;

interface BeginParts {
  readonly signals: ExecSignals;
  readonly stop: AbortSignal;
  settle(answers: readonly Answer[], image: boolean): Promise<Slice>;
  image(): SliceImage | null;
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

function recordsDoNotFit(why: string): CellEnd {
  return placeless(
    "checkpoint_lost",
    "CheckpointError",
    `the exec cannot be resumed from its records: ${why}`,
    "Nothing was sent. Run the cell again.",
  );
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

interface Ends {
  /** The exec has failed: an answer could not be kept. */
  failed(error: unknown): void;
  /** The exec is to stop. */
  readonly stop: AbortSignal;
  /** The exec is to stop, and not because it is suspended. */
  readonly cancelled: AbortSignal;
  /**
   * The exec is suspended: calls that are out get no answer, and the process that resumes sends them again. Only what must not run
   * twice is waited for.
   */
  readonly suspend: AbortSignal | undefined;
}

/** The calls that are being answered, and the queue of the answers that are kept. */
interface InFlight {
  /** Returns whether the work was done. If the exec is to stop, it does not begin; a suspended exec does not wait for it. */
  unlessStopped<T>(work: (of: T) => Promise<void>, of: T): Promise<boolean>;
  /** Sends the calls that were not sent before: a guest that was opened again names those that are out. */
  send(waiting: readonly PendingCall[]): void;
  /** True if an answer is kept within so many ms, or if the exec is to stop. */
  answersWithin(ms: number): Promise<boolean>;
  /** Resolves to the answers kept since the last call, in that order: at least one, or none if the exec is to stop. */
  next(): Promise<readonly Answer[]>;
  /** Returns the calls that have begun and must not run twice. */
  held(): HeldCalls;
  /** Aborts the calls that are still out and waits up to `ms` for their answers to be kept. Later answers are not kept. */
  callOff(ms: number): Promise<void>;
}

/** Calls that have begun and must not run twice. */
interface HeldCalls {
  /** The ids of all of them. */
  readonly begun: ReadonlySet<string>;
  /** Those without an answer. */
  readonly running: readonly PendingCall[];
  /** Resolves when these are answered. */
  readonly answered: Promise<unknown>;
}

function openInFlight(
  { calls, journal, clock, suspension }: Omit<LoopParts, "machine">,
  { failed, stop, cancelled, suspend }: Ends,
): InFlight {
  const over = new AbortController();
  const abort = joinSignals(stop, over.signal);
  const heldOver = joinSignals(cancelled, over.signal);
  /** The calls that are being answered, by their ids. */
  const out = new Map<string, { readonly call: PendingCall; readonly running: Promise<void> }>();
  /** Ids of calls that have begun what must not run twice. */
  const held = new Set<string>();
  const sent = new Set<string>();
  let queue: Answer[] = [];
  let wake = () => {};
  let closed = false;
  stop.addEventListener("abort", () => wake(), { once: true });

  async function run(call: PendingCall): Promise<void> {
    const hold = async () => {
      held.add(call.id);
      await journal.keepRun(call.id); // ▣ rlm_run, before what must not run twice
      return heldOver.signal;
    };
    const answered = await calls.answer(call, abort.signal, hold);
    if (closed) return;
    if (suspend?.aborted && (!held.has(call.id) || heldOver.signal.aborted)) return;
    await journal.keepResult(call, answered, abort.signal); // ▣ rlm_tool_result, as each answer comes
    queue.push({ id: call.id, settlement: answered.settlement });
    wake();
  }

  return {
    async unlessStopped(work, of) {
      if (stop.aborted) return false;
      const done = work(of).catch((error: unknown) => failed(error ?? "unknown reason"));
      await settledOrAborted(done, suspend);
      return !stop.aborted;
    },
    send(waiting) {
      for (const call of waiting.filter(({ id }) => !sent.has(id))) {
        sent.add(call.id);
        const running = suspension
          .active(() => run(call)) // until its answer is kept
          .catch(failed)
          .finally(() => out.delete(call.id));
        out.set(call.id, { call, running });
      }
    },
    async answersWithin(ms) {
      if (queue.length === 0 && !stop.aborted) {
        await new Promise<void>((resolve) => {
          const callOff = clock.after(ms, resolve);
          wake = () => {
            callOff();
            resolve();
          };
        });
      }
      return queue.length > 0 || stop.aborted;
    },
    async next() {
      if (queue.length === 0 && !stop.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const answers = queue;
      queue = [];
      return answers;
    },
    held() {
      const open = [...out.values()].filter(({ call }) => held.has(call.id));
      const answered = Promise.all(open.map(({ running }) => running));
      return { begun: held, running: open.map(({ call }) => call), answered };
    },
    async callOff(ms) {
      if (out.size > 0) {
        over.abort();
        const answers = Promise.all([...out.values()].map(({ running }) => running));
        await Promise.race([answers, new Promise<void>((resolve) => clock.after(ms, resolve))]);
      }
      closed = true;
      abort[Symbol.dispose]();
      heldOver[Symbol.dispose]();
    },
  };
}
