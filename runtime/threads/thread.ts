import { Worker } from "node:worker_threads";
import { type Caller, openThreadCaller } from "../caller.ts";
import type { Clock } from "../clock.ts";
import { faultOf, lostEnd, machineLost, SUSPENDED, withPrinted } from "../ends.ts";
import { MachineFault } from "../engine.ts";
import { RlmError } from "../errors.ts";
import type { Baseline } from "../images/image.ts";
import {
  type Answer,
  type Checkpoint,
  type Ended,
  type ExecInput,
  type ExecState,
  type FromThread,
  type Json,
  type MachineSetup,
  type PendingCall,
  type Printed,
  type ResumeInput,
  SHARED,
  type SliceImage,
  type ThreadNote,
  type ThreadSetup,
  type ToThread,
} from "../protocol.ts";
import type { Poolable, Seat } from "./pool.ts";
import { watchThread } from "./watchdog.ts";

/** A thread that serves machines, one after the other. */
export interface MachineThread extends Poolable, Pick<Caller<ToThread<unknown>, FromThread>, "ask"> {
  /** The words of `SHARED`. */
  readonly shared: Int32Array;
  /** Sets what hears the notes of the machine from now on; null: nobody. */
  listen(heard: ((note: ThreadNote) => void) | null): void;
}

/**
 * The part of a thread's heap for new objects, MB. V8 would let it grow to 48, and buffers that are
 * garbage lie as long.
 */
const YOUNG_MB = 3;

/**
 * Starts a thread. The answer has the image of a fresh guest, if the thread was to make it.
 *
 * @param setup makes what the thread gets, while it begins
 * @throws RlmError `machine_lost` if the thread ends before it can serve
 */
export async function startMachineThread(
  module: URL,
  setup: () => Omit<ThreadSetup, "shared">,
): Promise<{ readonly thread: MachineThread; readonly baseline: Baseline | null }> {
  const shared = new Int32Array(new SharedArrayBuffer(SHARED.words * Int32Array.BYTES_PER_ELEMENT));
  const worker = new Worker(module, {
    // Deep recursion in the guest must meet its own limit (512 KB) long before this one.
    resourceLimits: { stackSizeMb: 16, maxYoungGenerationSizeMb: YOUNG_MB },
    // Node refuses some flags of a process for a thread, such as --input-type.
    execArgv: [],
  });
  const gone = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  let heard: ((note: ThreadNote) => void) | null = null;
  const caller = openThreadCaller<ToThread<unknown>, FromThread, never, ThreadNote>(
    worker,
    "the machine's thread ended",
    (note) => heard?.(note),
  );
  const thread: MachineThread = {
    shared,
    gone,
    ask: caller.ask,
    listen(next) {
      heard = next;
    },
    end: caller.end,
  };
  try {
    const started = await caller.ask({ kind: "begin", setup: { ...setup(), shared } });
    return { thread, baseline: started.kind === "ready" ? started.baseline : null };
  } catch (error) {
    await caller.end();
    throw error instanceof RlmError ? error : machineLost(error instanceof Error ? error.message : String(error));
  }
}

/**
 * The thread of one machine, watched: if it does not answer in time, the machine counts as failed.
 */
export interface Thread<Message> {
  /** Opens the machine, however long that takes. @throws as `ask` */
  open(setup: MachineSetup<Message>, transfer: readonly ArrayBuffer[]): Promise<FromThread>;
  /**
   * Sends a message and waits for its answer, one at a time.
   *
   * @param limitMs how long the guest may run
   * @param listensToCancel true if the `cancel` word shortens that
   * @throws RlmError if the message is refused; an Error that says why if it failed, took too long
   * (see `watchThread`) or the machine is gone
   */
  ask(message: ToThread<Message>, limitMs: number, listensToCancel?: boolean): Promise<FromThread>;
  /** Sets or clears the word that ends the running exec as cancelled. */
  cancel(on: boolean): void;
  /** The guest's output since the last answer. */
  printed(): readonly Printed[];
  /**
   * Ends the thread. The message that waits for an answer fails with this reason, and so does every
   * later one.
   */
  end(why: string): Promise<void>;
  /**
   * Like `end`, but a thread whose machine is at rest and sound only drops the machine, and serves
   * others.
   */
  release(why: string): Promise<void>;
}

interface ThreadOptions {
  readonly seat: Pick<Seat<Pick<MachineThread, "shared" | "ask" | "listen" | "end">>, "thread" | "leave">;
  readonly clock: Pick<Clock, "monotonic" | "after">;
  readonly notice: ((text: string) => void) | undefined;
}

export function openThread<Message>({ seat, clock, notice }: ThreadOptions): Thread<Message> {
  const { shared } = seat.thread;
  let printed: Printed[] = [];
  /** Fails the message that is under way. */
  let fail: ((why: string) => void) | undefined;
  let dead: string | undefined;
  let ended: Promise<void> | undefined;
  /** A message failed: no other machine may be opened in this thread. */
  let isPoisoned = false;

  shared.fill(0);
  seat.thread.listen((note) => {
    if (note.kind === "notice") notice?.(note.text);
    else printed.push(...note.parts);
  });

  async function exchange(message: ToThread<Message>, transfer: readonly ArrayBuffer[] = []): Promise<FromThread> {
    if (dead !== undefined) throw new MachineFault(dead);
    const failed = Promise.withResolvers<never>();
    fail = (why) => failed.reject(new MachineFault(why));
    Atomics.store(shared, SHARED.capturing, 0);
    let hasFailed = false;
    try {
      return await Promise.race([seat.thread.ask(message, transfer), failed.promise]);
    } catch (error) {
      hasFailed = !(error instanceof RlmError);
      isPoisoned ||= hasFailed;
      throw error;
    } finally {
      fail = undefined;
      if (!hasFailed) printed = [];
    }
  }

  const ask: Thread<Message>["ask"] = async (message, limitMs, listensToCancel = true) => {
    const unwatch = watchThread({ shared, clock, limitMs, listensToCancel }, (why) => fail?.(why));
    try {
      return await exchange(message);
    } finally {
      unwatch();
    }
  };

  async function end(why: string): Promise<void> {
    if (!ended) {
      dead = why;
      fail?.(why);
      ended = seat.thread.end();
    }
    await ended;
  }

  return {
    open: (setup, transfer) => exchange({ kind: "open", setup }, transfer),
    ask,
    cancel(on) {
      if (dead === undefined) Atomics.store(shared, SHARED.cancel, on ? 1 : 0);
    },
    printed: () => printed,
    end,
    async release(why) {
      if (dead !== undefined) return ended;
      if (fail || isPoisoned) return end(why);
      dead = why;
      // Nobody waits for the answer: what the next machine asks, the thread hears after this.
      seat.thread.ask({ kind: "close" }).catch(() => seat.thread.end());
      seat.thread.listen(null);
      ended = seat.leave(Atomics.load(shared, SHARED.isLarge) === 0);
      await ended;
    },
  };
}

/** The state of an exec when its machine is at rest. */
export type Slice = Waiting | Over;

/** The guest waits for calls. */
export interface Waiting {
  readonly kind: "waiting";
  /**
   * Calls that were made in this slice. After `resume`: the calls that the guest in the image waits
   * for.
   */
  readonly calls: readonly PendingCall[];
  readonly state: ExecState;
  /** Image of the guest as it waits. null if none was wanted, or if no call is new. */
  readonly image: Checkpoint | null;
}

export interface Over extends Omit<Ended, "kind" | "clean"> {
  readonly kind: "over";
  /** Image of the guest at its end. Absent if none was wanted, or if there is none. */
  readonly image?: Checkpoint;
  /** Why the guest is gone with all its variables, or null if it lives on. */
  readonly lost: string | null;
}

/** Signals that end an exec from outside. */
export interface ExecSignals {
  /** Ends the exec as `cancelled`. The guest lives on if it comes to rest. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Ends the machine within a second, whatever it does. The exec is then `cancelled`, with
   * `lost: "suspended"`.
   */
  readonly suspend?: AbortSignal | undefined;
}

/**
 * Advances an exec slice by slice. A slice ends when the guest waits for calls or when the exec is
 * over.
 */
export interface Slices {
  /**
   * Runs a cell until its guest waits for calls or has ended.
   * @param signals are heard until the exec has ended
   */
  start(input: ExecInput, image: SliceImage | null, signals?: ExecSignals): Promise<Slice>;
  /** Continues the exec that waits in the guest of an image. Runs nothing yet. */
  resume(input: ResumeInput, signals?: ExecSignals): Promise<Slice>;
  /** Gives calls their answers, in this order, and the session's present facts. */
  settle(answers: readonly Answer[], facts: Json, image: SliceImage | null): Promise<Slice>;
  /** Ends the exec that waits for calls, as cancelled. */
  stop(): Promise<Slice>;
}

export function openSlices<Message>(thread: Thread<Message>, seat: Pick<Seat<unknown>, "waits">): Slices {
  /** The last state of the exec that the machine sent. */
  let known: ExecState;
  let unwatch = () => {};

  function begin(state: ExecState, signals: ExecSignals): void {
    known = state;
    unwatch();
    unwatch = watch(thread, signals);
  }

  async function advance(message: ToThread<Message>): Promise<Slice> {
    const limitMs = message.kind === "stop" ? 0 : known.limits.max_execution_ms - known.running_ms;
    seat.waits(false);
    try {
      return sliceOf(await thread.ask(message, limitMs));
    } catch (error) {
      return lostSlice(error instanceof RlmError ? `it refused ${message.kind}` : faultOf(error));
    }
  }

  function sliceOf(answer: FromThread): Slice {
    if (answer.kind === "idle") {
      known = answer.state;
      const { calls, checkpoint } = answer;
      if (checkpoint?.kind === "failed") return lostSlice(checkpoint.message);
      seat.waits(true);
      const image = checkpoint?.kind === "checkpointed" ? checkpoint.checkpoint : null;
      return { kind: "waiting", calls, state: known, image };
    }
    if (answer.kind !== "ended") return lostSlice(`it answered ${answer.kind}`);
    unwatch();
    const { clean, checkpoint, ...ended } = answer;
    const lost = clean ? null : "the guest did not come to rest";
    if (lost) void thread.end(lost);
    // The exec has ended all the same. Whoever asks for an image of the guest learns why there is none.
    if (checkpoint?.kind === "failed") void thread.end(checkpoint.message);
    return {
      ...ended,
      kind: "over",
      lost,
      ...(checkpoint?.kind === "checkpointed" ? { image: checkpoint.checkpoint } : {}),
    };
  }

  /**
   * An exec whose thread is ended does not wait for that: at a load of 15 on two cores a thread in
   * a long native took 1.2 s.
   */
  function lostSlice(why: string): Over {
    unwatch();
    const state = withPrinted(known, thread.printed());
    void thread.end(why);
    return { kind: "over", end: lostEnd(why), state, lost: why, whole: null, asides: [] };
  }

  return {
    start(input, image, signals = {}) {
      begin(input.state, signals);
      return advance({ kind: "start", input, checkpoint: image });
    },
    async resume(input, signals = {}) {
      begin(input.state, signals);
      const slice = await advance({ kind: "resume", input });
      return slice.kind === "waiting" ? { ...slice, calls: input.waiting } : slice;
    },
    settle: (answers, facts, image) => advance({ kind: "settle", answers, facts, checkpoint: image }),
    stop: () => advance({ kind: "stop" }),
  };
}

/** Hands the signals on to the thread until the returned function is called. */
function watch<Message>(thread: Thread<Message>, { signal, suspend }: ExecSignals): () => void {
  const cancel = () => thread.cancel(true);
  const suspended = () => void thread.release(SUSPENDED);
  thread.cancel(false);
  if (suspend?.aborted) suspended();
  if (signal?.aborted) cancel();
  suspend?.addEventListener("abort", suspended, { once: true });
  signal?.addEventListener("abort", cancel, { once: true });
  return () => {
    suspend?.removeEventListener("abort", suspended);
    signal?.removeEventListener("abort", cancel);
  };
}
