import { Worker } from "node:worker_threads";
import { type Clock, systemClock } from "./clock.ts";
import { placeless } from "./ends.ts";
import { isErrorCode, RlmError } from "./errors.ts";
import { TERMINATE_MS } from "./limits.ts";
import type { MachineImage } from "./machine.ts";
import { appendOutput } from "./output.ts";
import {
  type Answer,
  type CellEnd,
  type ExecInput,
  type ExecState,
  type FromWorker,
  type Json,
  type PendingCall,
  type Printed,
  type Settlement,
  SHARED,
  type ToWorker,
} from "./protocol.ts";
import { compileQuickJs } from "./quickjs-wasi.ts";
import type { WorkerSetup } from "./serve.ts";

export interface SandboxOptions<Setup> {
  /** Module that calls `serveSandbox`. */
  readonly worker: URL;
  /** Structured-cloneable; given to the worker's library. */
  readonly library: Setup;
  /** Bytes of the guest's own heap. */
  readonly memoryBytes: number;
  readonly onNotice?: (text: string) => void;
  readonly clock?: Clock;
}

/** The side of an exec that answers its calls. */
export interface CallHost {
  /**
   * Before calls are sent: resolves once they may be. A rejection ends the exec as `checkpoint_failed`, and no call of
   * this round is sent.
   */
  begin(calls: readonly PendingCall[], state: ExecState): Promise<void>;
  /**
   * Answers one call; ends early when the signal aborts. A failing call is a settlement: a rejection means that the
   * answer could not be recorded, and ends the exec as `checkpoint_failed`.
   */
  run(call: PendingCall, signal: AbortSignal): Promise<Settlement>;
  /** The session's facts as they stand now. */
  facts(): Json;
}

export interface ExecEnd {
  readonly end: CellEnd;
  readonly state: ExecState;
  /** Why the guest is gone with all its variables, or null where it lives on. */
  readonly lost: string | null;
}

/** A guest in a worker of its own, supervised: what does not come to rest in time is terminated. */
export interface Sandbox<Message = unknown> extends AsyncDisposable {
  exec(input: ExecInput, calls: CallHost, signal?: AbortSignal): Promise<ExecEnd>;
  /** Runs a guest command. @throws RlmError with what it threw; `machine_lost` where the guest is gone */
  enter(name: string, payload: Json): Promise<Json>;
  /** A message for the library alone. @throws as `enter` */
  tell(message: Message): Promise<void>;
  /** Another sandbox whose guest begins as a copy of this one. What was told to the library is not copied. */
  copy(): Promise<Sandbox<Message>>;
}

/** How long a guest command of the host may run, ms: the stores it touches hold at most 5 MB. */
const COMMAND_MS = 10_000;

let compiled: Promise<WebAssembly.Module> | undefined;

export function openSandbox<Setup, Message>(options: SandboxOptions<Setup>): Promise<Sandbox<Message>> {
  return open(options, undefined);
}

async function open<Setup, Message>(
  options: SandboxOptions<Setup>,
  image: MachineImage | undefined,
): Promise<Sandbox<Message>> {
  compiled ??= compileQuickJs();
  const clock = options.clock ?? systemClock;
  const shared = new Int32Array(new SharedArrayBuffer(SHARED.words * Int32Array.BYTES_PER_ELEMENT));
  const setup: WorkerSetup<Setup> = {
    wasm: await compiled,
    shared,
    memoryBytes: options.memoryBytes,
    library: options.library,
    ...(image ? { image } : {}),
  };
  const worker = new Worker(options.worker, {
    workerData: setup,
    // Deep recursion in the guest must meet its own limit (512 KB) long before this one.
    resourceLimits: { stackSizeMb: 16 },
  });
  let printed: Printed[] = [];
  let waiting: ((message: FromWorker) => void) | undefined;
  worker.on("message", (message: FromWorker) => {
    if (message.kind === "notice") options.onNotice?.(message.text);
    else if (message.kind === "printed") printed.push(...message.parts);
    else waiting?.(message);
  });
  let dead: string | undefined;
  const died = (why: string) => {
    dead ??= why;
    waiting?.({ kind: "failed", message: dead });
  };
  worker.on("error", (error) => died(error.message));
  worker.on("exit", () => died("the machine's thread ended"));
  const ready = await new Promise<FromWorker>((resolve) => {
    waiting = resolve;
  });
  if (ready.kind !== "ready") throw machineLost(ready.kind === "failed" ? ready.message : "it did not start");
  // A session that nobody closed must not keep its process alive; while a message is on its way, its watchdog does.
  worker.unref();

  /** Sends a message and waits for its answer; after `limitMs` of guest time and TERMINATE_MS the worker is ended. */
  function ask(message: ToWorker<Message>, limitMs: number): Promise<FromWorker> {
    return new Promise((resolve) => {
      const sentAt = clock.monotonic();
      let cancelledAt: number | undefined;
      let timer: NodeJS.Timeout | undefined;
      const answer = (reply: FromWorker) => {
        waiting = undefined;
        if (reply.kind !== "failed") printed = [];
        clearTimeout(timer);
        resolve(reply);
      };
      const look = () => {
        const now = clock.monotonic();
        if (Atomics.load(shared, SHARED.cancel) === 1) cancelledAt ??= now;
        const left = Math.min(
          sentAt + Atomics.load(shared, SHARED.offClockMs) + limitMs + TERMINATE_MS - now,
          cancelledAt === undefined ? Number.POSITIVE_INFINITY : cancelledAt + TERMINATE_MS - now,
        );
        const mayWait = Atomics.load(shared, SHARED.offClock) === 1 && cancelledAt === undefined;
        if (left > 0 || mayWait) timer = setTimeout(look, mayWait ? LOOK_MS : Math.min(left, LOOK_MS));
        else answer({ kind: "failed", message: cancelledAt === undefined ? TIMED_OUT : CANCELLED });
      };
      if (dead) return answer({ kind: "failed", message: dead });
      waiting = answer;
      timer = setTimeout(look, LOOK_MS);
      worker.postMessage(message);
    });
  }

  async function exec(input: ExecInput, calls: CallHost, signal?: AbortSignal): Promise<ExecEnd> {
    const inFlight = new AbortController();
    const running = new Set<Promise<void>>();
    const settled: Answer[] = [];
    let wake: (() => void) | undefined;
    let unrecorded: unknown;
    let state = input.state;
    const limitLeft = () => state.limits.max_execution_ms - state.running_ms;
    const cancel = () => {
      Atomics.store(shared, SHARED.cancel, 1);
      wake?.();
    };
    const failed = (error: unknown) => {
      unrecorded ??= error ?? "unknown reason";
      cancel();
    };
    const send = async (pending: readonly PendingCall[]) => {
      if (pending.length > 0) await calls.begin(pending, state);
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
    };
    /** What is in flight has no taker any more; how far it came is still recorded. */
    const callOff = async () => {
      if (running.size === 0) return;
      inFlight.abort();
      await Promise.race([Promise.all(running), new Promise<void>((resolve) => clock.after(CALL_OFF_MS, resolve))]);
    };
    const stopped = () => signal?.aborted === true || unrecorded !== undefined;
    Atomics.store(shared, SHARED.cancel, 0);
    if (signal?.aborted) cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      let reply = await ask({ kind: "exec", input }, limitLeft());
      while (reply.kind === "idle") {
        state = reply.state;
        if (!stopped()) await send(reply.calls).catch(failed);
        if (settled.length === 0 && !stopped()) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        reply = stopped()
          ? await ask({ kind: "stop" }, 0)
          : await ask({ kind: "settle", answers: settled.splice(0), facts: calls.facts() }, limitLeft());
      }
      await callOff();
      const done = await over(reply, state);
      return unrecorded === undefined ? done : { ...done, end: checkpointFailed(unrecorded) };
    } finally {
      if (running.size > 0) inFlight.abort();
      signal?.removeEventListener("abort", cancel);
    }
  }

  async function over(reply: FromWorker, last: ExecState): Promise<ExecEnd> {
    if (reply.kind === "ended") {
      const lost = reply.clean ? null : "the guest did not come to rest";
      if (lost) await worker.terminate();
      return { end: reply.end, state: reply.state, lost };
    }
    await worker.terminate();
    const state = withPrinted(last, printed);
    const why = reply.kind === "failed" ? reply.message : `it answered ${reply.kind}`;
    if (why === TIMED_OUT) return { end: { kind: "timeout" }, state, lost: why };
    if (why === CANCELLED) return { end: { kind: "cancelled" }, state, lost: why };
    return { end: placeless("machine_lost", "MachineFault", why, machineLost(why).suggestion), state, lost: why };
  }

  async function command(message: ToWorker<Message>): Promise<FromWorker & { kind: "entered" | "copied" }> {
    Atomics.store(shared, SHARED.cancel, 0);
    const reply = await ask(message, COMMAND_MS);
    if (reply.kind === "entered" || reply.kind === "copied") return reply;
    if (reply.kind === "refused") {
      const { code, suggestion } = reply.error;
      throw new RlmError(isErrorCode(code) ? code : "js_error", reply.error.message, { suggestion });
    }
    await worker.terminate();
    throw machineLost(reply.kind === "failed" ? reply.message : `it answered ${reply.kind}`);
  }

  return {
    exec,
    async enter(name, payload) {
      const reply = await command({ kind: "enter", name, payload, maxMs: COMMAND_MS });
      return reply.kind === "entered" ? reply.value : null;
    },
    async copy() {
      const reply = await command({ kind: "copy" });
      return open(options, reply.kind === "copied" ? reply.image : undefined);
    },
    async tell(message) {
      await command({ kind: "library", message, maxMs: COMMAND_MS });
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
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
  if (state.output.truncated && !state.warnings.includes("output_truncated")) state.warnings.push("output_truncated");
  return state;
}

const LOOK_MS = 100;
/** How long calls may take to end when they are aborted. */
const CALL_OFF_MS = 1000;
const TIMED_OUT = "the guest ran on past its limit and was ended from outside";
const CANCELLED = "the guest did not stop when cancelled and was ended from outside";

function machineLost(why: string): RlmError {
  return new RlmError("machine_lost", `the machine is gone: ${why}`, {
    suggestion: "Run the cell again; if it happens again, make the cell smaller and report it.",
  });
}
