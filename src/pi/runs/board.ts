import type { CallProgress, RemainingBudget, TurnProgress } from "../../session/index.ts";

/** The state that the widget and the commands show. A new object for every change; times are ms since the epoch. */
export interface State {
  /** False after `/rlm off`: the tools are not offered to the model. */
  readonly enabled: boolean;
  /** The session of the branch in Belay's store; null if RLM was not used on the branch. */
  readonly session: string | null;
  /** The checkpoint that the next exec starts from. */
  readonly checkpoint: string | null;
  /** Completed execs of the branch, by their entries: each left a checkpoint. */
  readonly checkpoints: number;
  readonly context: ContextState | null;
  /** null if this process has not opened the session yet. */
  readonly budget: RemainingBudget | null;
  readonly running: RunningState | null;
  /** null if no text of the conversation is outside. */
  readonly conversation: ConversationState | null;
}

/** The state of the conversation outside. */
export interface ConversationState {
  readonly objects: number;
  /** Those of the objects, estimated. */
  readonly tokens: number;
  /** The next request; `window` is null if Pi has no model. */
  readonly next: { readonly tokens: number; readonly window: number | null };
}

export interface ContextState {
  readonly sources: readonly string[];
  /** UTF-16 units of P, and `floor(chars / 4)`. */
  readonly chars: number;
  readonly tokens_estimate: number;
  /** null if this process has not opened the session. */
  readonly documents: number | null;
  /** A sentence about files of its sources that could not be read; null if there are none. Absent as `documents` is null. */
  readonly unread?: string | null;
}

/** A call of one of our tools, or the recovery of one. */
export interface RunningState {
  /** `rlm_exec` and the like. */
  readonly tool: string;
  readonly tool_call_id: string;
  /** null before the exec has begun. */
  readonly exec_id: string | null;
  /** `opening`: the session is made ready. `recovering`: an interrupted call is finished. */
  readonly phase: "opening" | "loading" | "running" | "recovering" | "stopping";
  readonly started_at: number;
  /** The turn of an ask that it has come to; null before the first, and for other execs. */
  readonly turn: TurnState | null;
  /** The turn that a child has come to which a call waits for; null if none has told one since the last answer. */
  readonly child: Pick<TurnProgress, "turn" | "of" | "depth"> | null;
  /** Sub-calls, tokens and cost of the session so far; null before the first. */
  readonly calls: CallProgress | null;
  /** The files and bytes that a load has read. */
  readonly load: { readonly files: number; readonly bytes: number } | null;
  /** The work of a builtin, in words. */
  readonly notice: string | null;
}

/** The state of an ask, with its usage until now. */
export type TurnState = Pick<TurnProgress, "turn" | "of" | "cells" | "sub_calls" | "tokens" | "cost_usd">;

/** The state, and who is told when it changes. */
export interface StateBoard {
  current(): State;
  /** Calls the listener after every change, until the returned function is called. A listener must not throw. */
  subscribe(listener: (state: State) => void): () => void;
  change(changed: Partial<State>): void;
  /** Changes what is shown of the running call, if there is one. */
  progress(changed: Partial<RunningState>): void;
}

export const NO_STATE: State = {
  enabled: true,
  session: null,
  checkpoint: null,
  checkpoints: 0,
  context: null,
  budget: null,
  running: null,
  conversation: null,
};

export function openStateBoard(): StateBoard {
  let state = NO_STATE;
  const listeners = new Set<(state: State) => void>();
  const change = (changed: Partial<State>) => {
    state = { ...state, ...changed };
    for (const listener of [...listeners]) listener(state);
  };
  return {
    current: () => state,
    subscribe(listener: (state: State) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    change,
    progress(changed: Partial<RunningState>): void {
      if (state.running) change({ running: { ...state.running, ...changed } });
    },
  };
}
