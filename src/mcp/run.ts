import type { Clock } from "../../runtime/index.ts";
import type { Progress } from "../session/index.ts";
import type { Tool, ToolEnvelope } from "../tools/index.ts";
import type { Tally } from "./progress.ts";

export interface Signals {
  /** Aborting ends what runs as cancelled. */
  readonly signal: AbortSignal;
  /** Aborting stops it where it is. */
  readonly suspend: AbortSignal;
}

/** What runs, as far as others may know. */
export interface RunningState {
  readonly exec_id: string | null;
  readonly tool: string;
  readonly elapsed_ms: number;
  /** The turn of an ask; absent for other execs. */
  readonly turn?: number;
  readonly done: number;
  readonly tokens: number;
}

/** One call of a tool that works in the session. */
export interface Run {
  /** Its answer, when it is over. */
  readonly done: Promise<ToolEnvelope>;
  readonly cancel: AbortController;
  isDetached(): boolean;
  isOver(): boolean;
  /** It is answered before it is over: only rlm_status ends it from now on. */
  detach(): void;
  progress(progress: Progress): void;
  tally(): Tally;
  state(): RunningState;
}

type Seen = Pick<Tally, "turn" | "child" | "calls" | "load" | "notice">;

const NOTHING_SEEN: Seen = { turn: null, child: null, calls: null, load: null, notice: null };

/** Begins one. @param execId the exec that the session runs now */
export function beginRun(
  clock: Clock,
  tool: Tool,
  suspend: AbortSignal,
  execId: () => string | null,
  work: (signals: Signals) => Promise<ToolEnvelope>,
): Run {
  const startedAt = clock.monotonic();
  const cancel = new AbortController();
  let isDetached = false;
  let isOver = false;
  let exec_id: string | null = null;
  let seen: Seen = NOTHING_SEEN;
  // It may finish an interrupted exec before its own. When it is over, the session names the exec of another run.
  const look = () => {
    if (!isOver) exec_id = execId() ?? exec_id;
  };
  return {
    done: Promise.resolve()
      .then(() => work({ signal: cancel.signal, suspend }))
      .finally(() => {
        isOver = true;
      }),
    cancel,
    isDetached: () => isDetached,
    isOver: () => isOver,
    detach() {
      look();
      isDetached = true;
    },
    progress(progress) {
      look();
      if (progress.kind === "turn" && progress.depth === 0)
        seen = { ...seen, turn: progress, calls: null, notice: null };
      else if (progress.kind === "calls") seen = { ...seen, calls: progress };
      else if (progress.kind === "load") seen = { ...seen, load: progress };
      else if (progress.kind === "notice") seen = { ...seen, notice: progress.text };
    },
    tally: () => ({ name: tool.name, elapsed_ms: clock.monotonic() - startedAt, ...seen }),
    state() {
      look();
      const elapsed_ms = Math.round(clock.monotonic() - startedAt);
      const { turn, calls } = seen;
      const done = calls?.done ?? turn?.sub_calls ?? 0;
      const tokens = (turn ?? calls)?.tokens ?? 0;
      return { exec_id, tool: tool.name, elapsed_ms, ...(turn ? { turn: turn.turn } : {}), done, tokens };
    },
  };
}
