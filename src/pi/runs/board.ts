import { tokensOf } from "../../models/index.ts";
import {
  type ExecProgress,
  type JournalRecord,
  type RemainingBudget,
  ROOT_CALL,
  type ToolCall,
  type ToolResult,
} from "../../session/index.ts";

import type { ToolEnvelope } from "../../tools/index.ts";

/**
 * The state that the widget and the commands show. A new object for every change; times are ms
 * since the epoch.
 */
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
  /**
   * A sentence about files of its sources that could not be read; null if there are none. Absent as
   * `documents` is null.
   */
  readonly unread?: string | null;
}

/** A call of one of our tools, or the recovery of one. */
export interface RunningState extends ExecProgress {
  /** `rlm_exec` and the like. */
  readonly tool: string;
  readonly tool_call_id: string;
  /** null before the exec has begun. */
  readonly exec_id: string | null;
  /** `opening`: the session is made ready. `recovering`: an interrupted call is finished. */
  readonly phase: "opening" | "loading" | "running" | "recovering" | "stopping";
  readonly started_at: number;
}

/** The state, and who is told when it changes. */
export interface StateBoard {
  current(): State;
  /**
   * Calls the listener after every change, until the returned function is called. A listener must
   * not throw.
   */
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
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    change,
    progress(changed) {
      if (state.running) change({ running: { ...state.running, ...changed } });
    },
  };
}

/** `details` of a tool's result: what is shown of it, and further facts. */
export interface ToolDetails {
  readonly tool: string;
  /** null for calls that are not execs, and if nothing could be started. */
  readonly session: string | null;
  readonly exec_id: string | null;
  /** The envelope that the model sees, with long values cut further. */
  readonly envelope: ToolEnvelope;
  readonly calls: CallTally;
  /** Wall time in this process, ms. */
  readonly elapsed_ms: number;
  /** The call was interrupted, and finished by another process. */
  readonly recovered: boolean;
  /**
   * Pi stopped the call, perhaps because it left the session: this stands where the real result may
   * come.
   */
  readonly stopped?: true;
}

/** `details` of a partial result, while the tool runs. */
export interface ProgressDetails {
  readonly tool: string;
  readonly running: RunningState;
}

/** Sub-calls of one exec. */
interface CallTally {
  readonly count: number;
  readonly failed: number;
  readonly tokens: number;
  /** USD by price lists. */
  readonly cost_usd: number;
  /** The first 50. */
  readonly items: (
    | { call_id: string; prompt: string; success: null; tokens: number; cost_usd: number; cached: boolean }
    | { call_id: string; prompt: string; success: boolean; tokens: number; cost_usd: number; cached: boolean }
  )[];
}

const ITEMS_KEPT = 50;
const PROMPT_UNITS = 80;

/** Adds up the sub-calls among the records of one exec, or of an ask with its cells. */
export function tallyOf(records: readonly JournalRecord[]): CallTally {
  const made = records.filter((record) => record.record === "rlm_tool_call");
  const calls = made.filter(({ name }) => name !== ROOT_CALL);
  const answers = records.filter((record) => record.record === "rlm_tool_result");
  const results = new Map(answers.map((answer) => [answer.call_id, answer]));
  const items = calls.map((call) => itemOf(call, results.get(call.call_id)));
  return {
    count: items.length,
    failed: items.filter(({ success }) => success === false).length,
    tokens: items.reduce((sum, { tokens }) => sum + tokens, 0),
    cost_usd: items.reduce((sum, { cost_usd }) => sum + cost_usd, 0),
    items: items.slice(0, ITEMS_KEPT),
  };
}

/** A call with the beginning of what was asked. `success` is null if it has no answer yet. */
function itemOf({ call_id, args }: ToolCall, result: ToolResult | undefined) {
  const [asked = ""] = args;
  const prompt = (typeof asked === "string" ? asked : JSON.stringify(asked)).slice(0, PROMPT_UNITS);
  if (!result) return { call_id, prompt, success: null, tokens: 0, cost_usd: 0, cached: false };
  const { usage, success, cached } = result;
  return { call_id, prompt, success, tokens: tokensOf(usage), cost_usd: usage.cost_usd, cached };
}
