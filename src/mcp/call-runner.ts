import type { Clock } from "../../runtime/index.ts";
import { whenAborted } from "../platform/signals.ts";
import type { SessionEvent } from "../session/index.ts";
import type { Signals, Tool, ToolEnvelope } from "../tools/index.ts";
import { beginCall, type CallParts, type RunningCall, type RunningState, type Tally } from "./call.ts";

/** A call of a tool, as a client made it. */
export interface Called {
  readonly tool: Tool;
  /** Aborted when the client gives the call up. */
  readonly signal: AbortSignal;
  /** The longest time that the client waits for an answer, ms; Infinity: as long as it takes. */
  readonly answerMs: number;
}

/**
 * Runs calls one at a time. One that takes too long is answered before it has ended, and continues.
 */
export interface CallRunner {
  /**
   * Waits for its turn, then runs `work`. The answer says so if it runs on, or if another one does.
   */
  run(called: Called, work: Working): Promise<ToolEnvelope>;
  /**
   * The answer of what runs, or of the newest that was answered before it had ended; null: neither
   * is meant.
   */
  wait(options: Called, exec_id: string | null): Promise<ToolEnvelope | null>;
  current(): RunningState | null;
  /** Ends what runs as cancelled, and waits for its end. False if nothing runs. */
  cancel(): Promise<boolean>;
  /** Execs that have ended since they were answered as running; they are told of once. */
  takeEnded(): string[];
  /** Settles when nothing runs any more. */
  idle(): Promise<void>;
  progress(event: SessionEvent): void;
  /** The state of the running call; null if nothing runs. */
  tally(): Tally | null;
  /** Calls `listener` when something has happened, until disposed of. */
  follow(listener: () => void): Disposable;
}

/** A call that has begun, or the answer of one that has not. */
type Turn = { readonly own: RunningCall } | { readonly refused: ToolEnvelope };

type Working = (signals: Signals) => Promise<ToolEnvelope>;

export function openCallRunner(parts: CallParts): CallRunner {
  const { clock } = parts;
  const ended = openFinishedCalls();
  const turns = openTurns(parts, ended);
  const listeners = new Set<() => void>();

  return {
    async run(called, work) {
      const deadline = clock.monotonic() + called.answerMs;
      const turn = await turns.take(called, deadline, work);
      if ("refused" in turn) return turn.refused;
      const { own } = turn;
      const patience = { clock, signal: NEVER, ms: deadline - clock.monotonic(), late: () => turns.detach(own) };
      return answerOf(own, patience);
    },
    async wait({ signal, answerMs }, exec_id) {
      const own = turns.running();
      if (!own || (exec_id !== null && exec_id !== own.state().exec_id)) return ended.answer(exec_id);
      const envelope = await answerOf(own, { clock, signal, ms: answerMs, late() {} });
      // It may first have finished another exec, which was the one that is meant.
      if (exec_id === null || exec_id === own.state().exec_id) return envelope;
      if (own.isOver() && own.isDetached()) ended.tell(own.state());
      return null;
    },
    current: () => turns.running()?.state() ?? null,
    async cancel() {
      const own = turns.running();
      if (!own) return false;
      own.cancel();
      await own.done.catch(() => {});
      ended.forget(own.state());
      return true;
    },
    takeEnded: ended.take,
    async idle() {
      await turns.running()?.done.catch(() => {});
    },
    progress(event) {
      // Clients are told nothing of checkpoints.
      if (event.kind === "checkpoint") return;
      turns.running()?.progress(event);
      for (const listener of listeners) listener();
    },
    tally: () => turns.running()?.tally() ?? null,
    follow(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}

/** The one call that runs, and those that wait for their turn. None waits while nothing runs. */
function openTurns(parts: CallParts, ended: Pick<FinishedCalls, "keep" | "tell" | "passed">) {
  const { clock, suspend } = parts;
  let running: RunningCall | null = null;
  const waiting = openCallQueue(clock);

  function begin({ tool, signal }: Called, work: Working): RunningCall {
    const own = beginCall(parts, tool, work);
    running = own;
    ended.passed();
    const giveUp = () => {
      if (!own.isDetached() && !suspend.aborted) own.giveUp();
    };
    const callOff = whenAborted(signal, giveUp);
    const over = (envelope: ToolEnvelope | null) => {
      callOff();
      if (envelope && own.isDetached()) {
        ended.keep(own.state(), envelope);
        if (!own.isAwaited()) ended.tell(own.state());
      }
      running = null;
      waiting.next();
    };
    void own.done.then(over, () => over(null));
    return own;
  }

  return {
    running: () => running,
    /**
     * Begins when all that was called before has ended, unless the client will not wait any longer.
     */
    take(called: Called, deadline: number, work: Working): Promise<Turn> {
      const { tool, signal } = called;
      // It called again after it had given up what runs.
      running?.stays();
      const { promise, resolve } = Promise.withResolvers<Turn>();
      const refuse = () =>
        resolve({ refused: tool.failed(running && !signal.aborted ? runningError(running.state()) : CANCELLED) });
      const own = () => resolve({ own: begin(called, work) });
      if (signal.aborted || running?.isDetached()) refuse();
      else if (!running) own();
      else waiting.add({ begin: own, refuse }, deadline - clock.monotonic(), signal);
      return promise;
    },
    /** Answers a run before it has ended, and the calls that wait for it. */
    detach(own: RunningCall): void {
      if (own.isOver()) return;
      own.detach();
      waiting.refuseAll();
    },
  };
}

const NEVER = new AbortController().signal;

const CANCELLED = { code: "cancelled", message: "cancelled before it began", suggestion: "Call the tool again." };

/** Another exec runs; nothing was started. */
function runningError({ exec_id, tool, elapsed_ms }: RunningState) {
  const seconds = Math.round(elapsed_ms / 1000);
  return {
    code: "exec_running",
    message: `${tool} has been running for ${seconds} s (exec ${exec_id ?? "not begun yet"}); nothing else was begun`,
    suggestion: "Call rlm_wait for its answer, or with discard: true to give it up.",
  };
}

interface Patience {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal: AbortSignal;
  /** Called when the time has run out. */
  late(): void;
}

/** Its answer, or that it still runs when the client will not wait any longer. */
async function answerOf(own: RunningCall, { clock, ms, signal, late }: Patience): Promise<ToolEnvelope> {
  const { promise: isLeft, resolve: leave } = Promise.withResolvers<void>();
  own.count(1);
  const callOff = afterMs(clock, ms, () => {
    late();
    leave();
  });
  const ignore = whenAborted(signal, leave);
  await Promise.race([own.done, isLeft]).finally(() => {
    callOff();
    ignore();
  });
  if (own.isOver()) return own.done;
  own.count(-1);
  const { tool: _tool, ...state } = own.state();
  return { success: true, running: true, ...state, suggestion: "call rlm_wait" };
}

/**
 * A call that waits for its turn. One of the two is called, once: `refuse` answers it now, and
 * begins nothing.
 */
type WaitingCall = Readonly<Record<"begin" | "refuse", () => void>>;

/** Calls that wait, in their order. */
function openCallQueue(clock: Clock) {
  const waiting = new Set<WaitingCall>();
  return {
    /** Adds one. It is refused when the time has run out, ms, or the signal aborts. */
    add({ begin, refuse }: WaitingCall, ms: number, signal: AbortSignal): void {
      const taken = (act: () => void) => () => {
        waiting.delete(own);
        for (const callOff of callOffs) callOff();
        act();
      };
      const own: WaitingCall = { begin: taken(begin), refuse: taken(refuse) };
      const callOffs = [afterMs(clock, ms, own.refuse), whenAborted(signal, own.refuse)];
      waiting.add(own);
    },
    /** Begins the next one in this tick, so that no other call takes the same turn. */
    next(): void {
      const [next] = waiting;
      next?.begin();
    },
    refuseAll(): void {
      for (const call of [...waiting]) call.refuse();
    },
  };
}

/** Acts after so many ms; Infinity: never. Returns a function that cancels it. */
function afterMs(clock: Clock, ms: number, act: () => void): () => void {
  return ms === Number.POSITIVE_INFINITY ? () => {} : clock.after(Math.max(0, ms), act);
}

/** Runs that were answered before they had ended, and have ended now. */
interface FinishedCalls {
  keep(state: RunningState, envelope: ToolEnvelope): void;
  /** Nobody has its answer. */
  tell(state: RunningState): undefined;
  /** Another run has begun: without its id the last one is not meant any more. */
  passed(): void;
  /** The answer of the last one, if it is the one that is asked for; it needs no telling then. */
  answer(exec_id: string | null): ToolEnvelope | null;
  /** A client has its answer. */
  forget(state: RunningState): void;
  /** The execs of which no answer has told yet. */
  take(): string[];
}

function openFinishedCalls(): FinishedCalls {
  let last: { readonly name: string; readonly envelope: ToolEnvelope } | null = null;
  let isNewest = false;
  let untold: string[] = [];
  const forget = (name: string) => {
    untold = untold.filter((told) => told !== name);
  };
  return {
    keep(state, envelope) {
      last = { name: nameOf(state), envelope };
      isNewest = true;
    },
    tell: (state) => void untold.push(nameOf(state)),
    passed() {
      isNewest = false;
    },
    answer(exec_id) {
      if (!last || (exec_id === null ? !isNewest : exec_id !== last.name)) return null;
      forget(last.name);
      return last.envelope;
    },
    forget: (state) => forget(nameOf(state)),
    take() {
      const warnings = untold;
      untold = [];
      return warnings;
    },
  };
}

/** A call that ended before its exec began has no id. */
function nameOf({ exec_id, tool }: RunningState): string {
  return exec_id ?? tool;
}
