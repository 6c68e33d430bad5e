import type { Clock } from "../../runtime/index.ts";
import type { Progress } from "../session/index.ts";
import type { Tool, ToolEnvelope } from "../tools/index.ts";
import { openEnded } from "./ended.ts";
import type { Tally } from "./progress.ts";
import { beginRun, type Run, type RunningState, type Signals } from "./run.ts";

/** A call of a tool, as a client made it. */
export interface Called {
  readonly tool: Tool;
  /** Aborted when the client gives the call up. */
  readonly signal: AbortSignal;
  /** How long the client waits for an answer at most, ms; Infinity: as long as it takes. */
  readonly answerMs: number;
}

/** Runs calls one at a time. One that takes too long is answered before it is over, and goes on. */
export interface Runs {
  /** Waits for its turn, then runs `work`. The answer says so if it runs on, or if another one does. */
  run(called: Called, work: (signals: Signals) => Promise<ToolEnvelope>): Promise<ToolEnvelope>;
  /** The answer of what runs, or of the newest that was answered before it was over; null: neither is meant. */
  wait(called: Called, exec_id: string | null): Promise<ToolEnvelope | null>;
  current(): RunningState | null;
  /** Ends what runs as cancelled, and waits for its end. False if nothing runs. */
  cancel(): Promise<boolean>;
  /** Execs that have ended since they were answered as running; they are told of once. */
  takeEnded(): string[];
  /** Settles when nothing runs any more. */
  idle(): Promise<void>;
  progress(progress: Progress): void;
  /** Where what runs stands; null if nothing does. */
  tally(): Tally | null;
  /** Calls `listener` when something has happened, until disposed of. */
  follow(listener: () => void): Disposable;
}

/** @param execId the exec that the session runs now */
export function openRuns(clock: Clock, suspend: AbortSignal, execId: () => string | null): Runs {
  let running: Run | null = null;
  const ended = openEnded();
  const listeners = new Set<() => void>();

  function begin({ tool }: Called, work: (signals: Signals) => Promise<ToolEnvelope>): Run {
    const own = beginRun(clock, tool, suspend, execId, work);
    running = own;
    const over = own.done.then(
      (envelope) => {
        if (own.isDetached()) ended.keep(own.state(), envelope);
      },
      () => {},
    );
    void over.then(() => {
      if (running === own) running = null;
    });
    return own;
  }

  /** Its answer, or that it still runs when the client will not wait any longer. */
  async function answer(own: Run, signal: AbortSignal, ms: number): Promise<ToolEnvelope> {
    const envelope = await settledIn(own.done, { clock, ms, signal });
    if (envelope) return envelope;
    own.detach();
    const { tool: _tool, ...state } = own.state();
    return { success: true, running: true, ...state, suggestion: "call rlm_wait" };
  }

  /** Waits until nothing runs. Gives what runs all the same when the client will not wait any longer. */
  async function turn({ signal }: Called, deadline: number): Promise<Run | null> {
    for (let before = running; before; before = running) {
      const over = Promise.race([before.done.catch(() => {}), before.detaching]).then(() => true);
      const isNext = await settledIn(over, { clock, ms: deadline - clock.monotonic(), signal });
      if (signal.aborted || (running === before && (!isNext || before.isDetached()))) return before;
    }
    return null;
  }

  return {
    async run(called, work) {
      const { tool, signal, answerMs } = called;
      const deadline = clock.monotonic() + answerMs;
      const before = await turn(called, deadline);
      if (signal.aborted) return tool.failed(CANCELLED);
      if (before) return tool.failed(runningError(before.state()));
      const own = begin(called, work);
      const giveUp = () => {
        if (!own.isDetached() && !suspend.aborted) own.cancel.abort();
      };
      signal.addEventListener("abort", giveUp, { once: true });
      return answer(own, NEVER, deadline - clock.monotonic());
    },
    async wait({ signal, answerMs }, exec_id) {
      const own = running;
      if (!own || (exec_id !== null && exec_id !== own.state().exec_id)) return ended.answer(exec_id);
      const envelope = await answer(own, signal, answerMs);
      if (envelope.running !== true) ended.forget(own.state());
      return envelope;
    },
    current: () => running?.state() ?? null,
    async cancel() {
      const own = running;
      if (!own) return false;
      own.cancel.abort();
      await own.done.catch(() => {});
      ended.forget(own.state());
      return true;
    },
    takeEnded: ended.take,
    async idle() {
      await running?.done.catch(() => {});
    },
    progress(progress) {
      running?.progress(progress);
      for (const listener of listeners) listener();
    },
    tally: () => running?.tally() ?? null,
    follow(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}

const NEVER = new AbortController().signal;

const CANCELLED = { code: "cancelled", message: "cancelled before it began", suggestion: "Call the tool again." };

/** Another exec runs; nothing was begun. */
function runningError({ exec_id, tool, elapsed_ms }: RunningState) {
  const seconds = Math.round(elapsed_ms / 1000);
  return {
    code: "exec_running",
    message: `${tool} has been running for ${seconds} s (exec ${exec_id ?? "not begun yet"}); nothing else was begun`,
    suggestion: "Call rlm_wait for its answer, or rlm_status with discard: true to give it up.",
  };
}

/** What the work gives, or null if the time is over or the signal aborts first. */
async function settledIn<T>(
  work: Promise<T>,
  { clock, ms, signal }: { readonly clock: Clock; readonly ms: number; readonly signal: AbortSignal },
): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const callOff = ms === Number.POSITIVE_INFINITY ? () => {} : clock.after(Math.max(0, ms), () => resolve(null));
  const stop = () => resolve(null);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    callOff();
    signal.removeEventListener("abort", stop);
  }
}
