import type { Clock } from "./clock.ts";
import { placeless } from "./ends.ts";
import { RlmError } from "./errors.ts";
import { appendOutput, outputWarning } from "./output.ts";
import type {
  Answer,
  CellEnd,
  Checkpoint,
  ExecState,
  FromWorker,
  PendingCall,
  Printed,
  Replayed,
  ToWorker,
} from "./protocol.ts";
import type { CallHost, ExecEnd, ExecSignals } from "./sandbox.ts";
import { CANCELLED, type Thread, TIMED_OUT } from "./thread.ts";

/** What drives the rounds of an exec: the guest runs until it waits, its calls are answered, the guest runs on. */
export interface Rounds<Message> {
  readonly thread: Thread<Message>;
  readonly clock: Clock;
  /** @throws RlmError where a checkpoint could not be taken */
  taken(reply: FromWorker): Promise<Checkpoint>;
  /** Begins the exec, or takes it up. */
  readonly first: ToWorker<Message>;
  readonly state: ExecState;
  /** Calls that the guest waits for already. */
  readonly waiting: readonly PendingCall[];
  readonly replay: readonly Replayed[];
  readonly calls: CallHost;
}

/** Why an exec was ended by `ExecSignals.suspend`. */
const SUSPENDED = "suspended";
/** How long calls may take to end when they are aborted. */
const CALL_OFF_MS = 1000;
const SUSPEND_MS = 500;

export async function runRounds<Message>(
  { thread, clock, taken, first, waiting, replay, calls, ...input }: Rounds<Message>,
  { signal, suspend }: ExecSignals,
): Promise<ExecEnd> {
  const inFlight = new AbortController();
  const running = new Set<Promise<void>>();
  const settled: Answer[] = [];
  const recorded = [...replay];
  /** Calls that are neither answered nor being answered. */
  const open = [...waiting];
  let state = input.state;
  /** Of the guest as it is now. */
  let checkpoint: FromWorker | null = null;
  let unrecorded: unknown;
  let misfit: string | undefined;
  let wake: (() => void) | undefined;
  const limitLeft = () => state.limits.max_execution_ms - state.running_ms;
  const stopped = () => signal?.aborted === true || suspend?.aborted === true || unrecorded !== undefined;
  const cancel = () => {
    thread.cancel(true);
    wake?.();
  };
  const failed = (error: unknown) => {
    unrecorded ??= error ?? "unknown reason";
    cancel();
  };
  let suspended = () => {};
  const suspension = new Promise<void>((resolve) => {
    suspended = () => {
      inFlight.abort();
      resolve();
      wake?.();
      // Awaited once more where the exec's end is made.
      void thread.end(SUSPENDED);
    };
  });

  async function send(pending: readonly PendingCall[]): Promise<void> {
    if (pending.length === 0) return;
    await calls.begin(pending, state, checkpoint && (await taken(checkpoint)));
    if (suspend?.aborted) return;
    for (const call of pending) {
      const run: Promise<void> = calls
        .run(call, inFlight.signal)
        .then((settlement) => {
          settled.push({ id: call.id, settlement });
          wake?.();
        }, failed)
        .finally(() => running.delete(run));
      running.add(run);
    }
  }

  async function answers(): Promise<readonly Answer[]> {
    const next = recorded.shift();
    if (next) {
      const at = open.findIndex(({ id }) => id === next.id);
      misfit = misfitOf(next, open[at]);
      open.splice(at, 1);
      return [next];
    }
    await Promise.race([send(open.splice(0).sort(byNumber)).catch(failed), suspension]);
    if (settled.length === 0 && !stopped()) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return settled.splice(0);
  }

  async function round(): Promise<FromWorker> {
    const given = stopped() ? [] : await answers();
    if (misfit !== undefined) return { kind: "failed", message: misfit };
    if (stopped()) return thread.ask({ kind: "stop" }, 0);
    // The calls of recorded answers are recorded too: no state has to be kept before them.
    const wanted = recorded.length > 0 ? null : calls.checkpoint();
    const message = { kind: "settle", answers: given, facts: calls.facts(), checkpoint: wanted } as const;
    return thread.ask(message, limitLeft());
  }

  /** What is in flight has no taker any more; how far it came is still recorded. */
  async function callOff(): Promise<void> {
    if (running.size === 0) return;
    inFlight.abort();
    const ms = suspend?.aborted ? SUSPEND_MS : CALL_OFF_MS;
    await Promise.race([Promise.all(running), new Promise<void>((resolve) => clock.after(ms, resolve))]);
  }

  async function over(reply: FromWorker): Promise<ExecEnd> {
    if (reply.kind === "ended") {
      const lost = reply.clean ? null : "the guest did not come to rest";
      if (lost) await thread.end(lost);
      return { end: reply.end, state: reply.state, lost, whole: reply.whole, asides: reply.asides };
    }
    const why = reply.kind === "failed" ? reply.message : `it answered ${reply.kind}`;
    const known = withPrinted(state, thread.printed());
    await thread.end(why);
    const end = misfit === undefined ? lostEnd(why) : checkpointLost(misfit);
    return { end, state: known, lost: why, whole: null, asides: [] };
  }

  thread.cancel(false);
  if (suspend?.aborted) suspended();
  if (signal?.aborted) cancel();
  suspend?.addEventListener("abort", suspended, { once: true });
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    let reply = await thread.ask(first, limitLeft());
    while (reply.kind === "idle") {
      state = reply.state;
      checkpoint = reply.checkpoint;
      open.push(...reply.calls);
      reply = await round();
    }
    await callOff();
    const done = await over(reply);
    return unrecorded === undefined ? done : { ...done, end: checkpointFailed(unrecorded) };
  } finally {
    if (running.size > 0) inFlight.abort();
    suspend?.removeEventListener("abort", suspended);
    signal?.removeEventListener("abort", cancel);
  }
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

function lostEnd(why: string): CellEnd {
  if (why === TIMED_OUT) return { kind: "timeout" };
  if (why === CANCELLED || why === SUSPENDED) return { kind: "cancelled" };
  return placeless("machine_lost", "MachineFault", why, machineLost(why).suggestion);
}

function checkpointLost(why: string): CellEnd {
  return placeless(
    "checkpoint_lost",
    "CheckpointError",
    `the exec cannot go on from its records: ${why}`,
    "Nothing was sent. Run the cell again.",
  );
}

function checkpointFailed(cause: unknown): CellEnd {
  if (cause instanceof RlmError) return placeless(cause.code, cause.name, cause.message, cause.suggestion);
  const why = cause instanceof Error ? cause.message : String(cause);
  return placeless(
    "checkpoint_failed",
    "CheckpointError",
    `the exec could not be recorded: ${why}`,
    "Nothing was sent without a record. Free space or check the store's folder, then run the cell again.",
  );
}

/** The state of an exec whose machine was ended: what it is known to have printed is kept. */
function withPrinted(last: ExecState, printed: readonly Printed[]): ExecState {
  const state = structuredClone(last);
  for (const { stream, text } of printed) appendOutput(state.output, stream, text, state.limits.max_output_bytes);
  if (state.output.truncated) state.warnings.push(outputWarning(state.output, state.limits.max_output_bytes));
  return state;
}

/** For whoever asks something of a guest that is gone. */
export function machineLost(why: string): RlmError {
  return new RlmError("machine_lost", `the machine is gone: ${why}`, {
    suggestion: "Run the cell again; if it happens again, make the cell smaller and report it.",
  });
}
