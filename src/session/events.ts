import type { LoadProgress } from "../context/index.ts";
import type { ProviderWait } from "../provider-batches/index.ts";
import type { HeldBack } from "./sub-calls/held-back.ts";

/** An event of a session, as `onProgress` gets it. */
export type SessionEvent =
  /** Progress of a load. */
  | ({ readonly kind: "load" } & LoadProgress)
  /** The work of a builtin, for people. */
  | { readonly kind: "notice"; readonly text: string }
  /** Sub-calls of the running exec, and what the session has spent and holds in reserve. */
  | ({ readonly kind: "calls" } & CallProgress)
  /** A call of a workflow has been answered. */
  | ({ readonly kind: "call" } & CallNotice)
  /** Text that a workflow has printed since the event before. */
  | { readonly kind: "printed"; readonly stdout: string; readonly stderr: string }
  /** Batches that the running exec waits for; none: their answers are there. */
  | { readonly kind: "waits"; readonly waits: readonly ProviderWait[] }
  /** Calls by batch that wait for tokens or dollars which calls in a batch hold. */
  | { readonly kind: "held_back"; readonly held_back: HeldBack }
  /** The longest wait of calls, reported each second; null: none takes long any more. */
  | { readonly kind: "waiting"; readonly wait: Wait | null }
  /** A turn of an ask. */
  | ({ readonly kind: "turn" } & TurnProgress)
  /** A checkpoint that is kept. */
  | { readonly kind: "checkpoint"; readonly checkpoint: CheckpointNotice };

/** A wait of calls for a server that answered before and is away, or for the first token of an answer. */
export interface Wait {
  readonly for: "server" | "first_token";
  /** The origin of the server's address, or the model, `provider/id`. */
  readonly of: string;
  /** Time that the wait has lasted, and that it can last, ms. */
  readonly waited_ms: number;
  readonly most_ms: number;
}

export interface CallProgress {
  readonly done: number;
  readonly running: number;
  /** Calls that are made, and of which no request has left. */
  readonly waiting: number;
  /** Sub-calls that the budget still allows. */
  readonly left: number;
  /** Spent since the last load; USD by price lists. */
  readonly tokens: number;
  readonly cost_usd: number;
  /** Held by requests in flight: the most that they may take. */
  readonly held_tokens: number;
  readonly held_cost_usd: number;
  /** Calls of functions that the budget still allows; absent if the program lends none. */
  readonly functions_left?: number;
  /** Sub-calls of a workflow by their phase, in the order in which the phases began; absent of other cells. */
  readonly phases?: readonly PhaseProgress[];
}

/** Sub-calls of one phase of a workflow, those of earlier processes too. */
export interface PhaseProgress {
  /** null: calls without a phase. */
  readonly phase: string | null;
  readonly made: number;
  readonly running: number;
  /** Those with an answer, failed ones too. */
  readonly done: number;
  readonly failed: number;
}

/** An answered call of a workflow, for displays of progress. */
export interface CallNotice {
  readonly call_id: string;
  readonly label: string | null;
  readonly phase: string | null;
  /** `provider/id`, or `agent:NAME/MODEL`; empty if it asked none. */
  readonly model: string;
  /** null: it has an answer. */
  readonly error_code: string | null;
  /** True if its answer is that of another call, and cost nothing. */
  readonly cached: boolean;
  readonly tokens: number;
  readonly cost_usd: number;
  /** Since its first request was sent; null: none was. */
  readonly ms: number | null;
}

export interface CheckpointNotice {
  readonly id: string;
  readonly exec_id: string;
  /** `step`: the exec waits for calls. `end`: it has ended. */
  readonly kind: "step" | "end";
  /** Pages of the guest that changed since the checkpoint before, and their bytes before compression. */
  readonly pages: number;
  readonly bytes: number;
  /** Wall time of capturing and keeping it, ms. For a step: from its message until its calls may be sent, and in the guest's thread. */
  readonly ms: number;
}

/** Progress of an ask, for displays. */
export interface TurnProgress {
  /** 0 for the ask of a caller; a child is one deeper than the session whose call it answers. */
  readonly depth: number;
  /** Ids of the calls that lead to the child, that of the caller's session first; empty for the ask itself. */
  readonly path: readonly string[];
  /** The root model, `provider/id`. */
  readonly model: string;
  readonly turn: number;
  readonly of: number;
  readonly phase: "asked" | "replied" | "ran";
  /** Counts of the ask so far. */
  readonly cells: number;
  readonly sub_calls: number;
  readonly tokens: number;
  readonly cost_usd: number;
  /** This turn: what the model said, the code of its cells and what it saw of their output. */
  readonly detail: { readonly text: string; readonly cells: readonly { code: string; observation: string }[] };
}
