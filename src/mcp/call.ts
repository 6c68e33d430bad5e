import type { Clock } from "../../runtime/index.ts";
import { elapsed } from "../platform/figures.ts";
import { aborted, joinSignals, WORK_ON } from "../platform/signals.ts";
import { inLine } from "../platform/visible.ts";
import {
  changeBy,
  type ExecProgress,
  NO_PROGRESS,
  type PhaseProgress,
  progressParts,
  type SessionEvent,
} from "../session/index.ts";
import type { Signals, Tool, ToolEnvelope } from "../tools/index.ts";

/** The running exec as answers tell of it. */
export interface RunningState {
  /** `null` before the exec has begun. */
  readonly exec_id: string | null;
  readonly tool: string;
  /** Wall time, ms. */
  readonly elapsed_ms: number;
  /** The turn of an ask; absent for other execs. */
  readonly turn?: number;
  /** Sub-calls that were answered. */
  readonly done: number;
  readonly tokens: number;
  /** Agents of a workflow by phase; absent for other execs. */
  readonly phases?: readonly PhaseState[];
}

/**
 * The agents of a phase: those that run, wait for their turn, and have ended. `failed` are some of the
 * last. It is a type and no interface, since only types go where JSON does.
 */
type PhaseState = {
  /** null: of calls without a phase. */
  readonly phase: string | null;
  readonly running: number;
  readonly waiting: number;
  readonly done: number;
  readonly failed: number;
};

/** The facts of its server that a run needs. */
export interface CallParts {
  readonly clock: Clock;
  /** Aborted when the client goes away. */
  readonly suspend: AbortSignal;
  /** The exec that the session runs now, or that is unfinished. */
  execId(): string | null;
  /** Records what is unfinished as cancelled, and answers its end. */
  endCancelled(tool: Tool): Promise<ToolEnvelope>;
}

/** One call of a tool that works in the session. */
export interface RunningCall {
  /** Its answer, when it has ended. */
  readonly done: Promise<ToolEnvelope>;
  /** Ends it as cancelled. */
  cancel(): void;
  /**
   * The client has given it up: it stops at once. If the client stays, it ends as cancelled; else
   * it stays unfinished.
   */
  giveUp(): void;
  /** The client is still there. */
  stays(value: void | PromiseLike<void>): void;
  isDetached(): boolean;
  isOver(): boolean;
  /** True if a client waits for its answer, and will get it. */
  isAwaited(): boolean;
  /** Counts those who wait. */
  count(change: 1 | -1): void;
  /** It is answered before it has ended: only rlm_wait with `discard` ends it from now on. */
  detach(): void;
  progress(event: SessionEvent): void;
  tally(): Tally;
  state(): RunningState;
}

/**
 * The time that a client must stay after it gave a call up, ms. Codex ends its servers 20 to 230 ms
 * after its user's Ctrl-C.
 */
const STAYS_MS = 1_000;

export function beginCall(
  parts: CallParts,
  tool: Tool,
  work: (signals: Signals) => Promise<ToolEnvelope>,
): RunningCall {
  const { clock, suspend, execId } = parts;
  const startedAt = clock.monotonic();
  const cancel = new AbortController();
  const givenUp = new AbortController();
  const staying = Promise.withResolvers<void>();
  let isDetached = false;
  let isOver = false;
  let waiters = 0;
  let exec_id: string | null = null;
  let seen = NO_PROGRESS;
  // It may finish an interrupted exec before its own. When it has ended, the session names the exec
  // of another run.
  const look = () => {
    if (!isOver) exec_id = execId() ?? exec_id;
  };

  async function worked(): Promise<ToolEnvelope> {
    using stopped = joinSignals(suspend, givenUp.signal);
    const envelope = await work({ signal: cancel.signal, suspend: stopped.signal });
    look();
    if (!givenUp.signal.aborted || execId() === null) return envelope;
    using gone = joinSignals(suspend);
    await Promise.race([staying.promise, aborted(gone.signal)]);
    return suspend.aborted ? envelope : parts.endCancelled(tool);
  }

  return {
    done: Promise.resolve()
      .then(worked)
      .finally(() => {
        isOver = true;
      }),
    cancel() {
      cancel.abort();
      staying.resolve();
    },
    giveUp() {
      const callOff = clock.after(STAYS_MS, staying.resolve);
      void staying.promise.then(callOff);
      // In this order: an exec that can be suspended is not recorded as cancelled, and a load ends.
      // Agents of the user's are ended with the record of the exec's end.
      givenUp.abort(WORK_ON);
      cancel.abort();
    },
    stays: staying.resolve,
    isDetached: () => isDetached,
    isOver: () => isOver,
    isAwaited: () => waiters > 0,
    count(change) {
      waiters += change;
    },
    detach() {
      look();
      isDetached = true;
    },
    progress(event) {
      look();
      seen = { ...seen, ...changeBy(event) };
    },
    tally: () => ({ name: tool.name, elapsed_ms: clock.monotonic() - startedAt, ...seen }),
    state() {
      look();
      const elapsed_ms = Math.round(clock.monotonic() - startedAt);
      const { turn, calls } = seen;
      const done = calls?.done ?? turn?.sub_calls ?? 0;
      const tokens = (turn ?? calls)?.tokens ?? 0;
      const phases = calls?.phases ? { phases: calls.phases.map(phaseState) } : {};
      return { exec_id, tool: tool.name, elapsed_ms, ...(turn ? { turn: turn.turn } : {}), done, tokens, ...phases };
    },
  };
}

function phaseState({ phase, made, running, done, failed }: PhaseProgress): PhaseState {
  return { phase, running, waiting: Math.max(0, made - running - done), done, failed };
}

/** The state of a running call. */
export interface Tally extends ExecProgress {
  /** The tool. */
  readonly name: string;
  /** Wall time, ms. */
  readonly elapsed_ms: number;
}

/** `turn 3 of 20 · 7 done · 2 running · 41 left · 18k tokens · $0.03`, at most 200 characters. */
export function progressMessage({ name, elapsed_ms, calls: counted, ...seen }: Tally): string {
  const calls = counted && counted.done + counted.running > 0 ? counted : null;
  const parts = progressParts({ ...seen, calls }, inLine);
  const line = parts.length > 0 ? parts.join(" · ") : `${name} runs, ${elapsed(elapsed_ms)}`;
  return Array.from(line).slice(0, MESSAGE_CHARACTERS).join("");
}

const MESSAGE_CHARACTERS = 200;

/**
 * Notifications of one call: at most one a second, and one at least every ten seconds.
 *
 * @param send gets the number of the notification, from 1
 */
export function openProgressNotes(clock: Clock, send: (progress: number) => void) {
  let sentAt = clock.monotonic();
  let count = 0;
  let isSoon = false;
  let callOff = clock.after(LONGEST_MS, note);
  function note(): void {
    sentAt = clock.monotonic();
    isSoon = false;
    callOff = clock.after(LONGEST_MS, note);
    send(++count);
  }
  return {
    /** Something has happened. */
    tell(): void {
      if (isSoon) return;
      isSoon = true;
      callOff();
      callOff = clock.after(Math.max(0, sentAt + SHORTEST_MS - clock.monotonic()), note);
    },
    [Symbol.dispose]: () => callOff(),
  };
}

const SHORTEST_MS = 1_000;
const LONGEST_MS = 10_000;
