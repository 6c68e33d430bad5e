import { faultOf, lostEnd, SUSPENDED, withPrinted } from "./ends.ts";
import { RlmError } from "./errors.ts";
import type {
  Answer,
  Checkpoint,
  CheckpointRequest,
  Ended,
  ExecInput,
  ExecState,
  FromThread,
  Json,
  PendingCall,
  ResumeInput,
  ToThread,
} from "./protocol.ts";
import type { Seat } from "./threads/pool.ts";
import type { Thread } from "./threads/thread.ts";

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
   * @param image is captured as soon as the guest waits for new calls
   * @param signals are heard until the exec has ended
   */
  start(input: ExecInput, image: CheckpointRequest | null, signals?: ExecSignals): Promise<Slice>;
  /** Continues the exec that waits in the guest of an image. Runs nothing yet. */
  resume(input: ResumeInput, signals?: ExecSignals): Promise<Slice>;
  /** Gives calls their answers, in this order, and the session's present facts. */
  settle(answers: readonly Answer[], facts: Json, image: CheckpointRequest | null): Promise<Slice>;
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
    const { clean, ...ended } = answer;
    const lost = clean ? null : "the guest did not come to rest";
    if (lost) void thread.end(lost);
    return { ...ended, kind: "over", lost };
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
  const suspended = () => void thread.end(SUSPENDED);
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
