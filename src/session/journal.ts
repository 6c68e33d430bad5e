import type { ExecState, Json } from "../../runtime/index.ts";
import type { ToolOverrideEvent } from "../model/policy.ts";
import type { Usage } from "../model/port.ts";

/** What an exec does. Every change of a session is an exec of one of these kinds. */
export type ExecKind = "cell" | "query" | "load" | "append" | "helpers" | "memory";

/** The ordered records of a session. Field names are those of the checkpointing spec. */
export type JournalRecord = Start | ToolCall | ToolResult | Complete;

export interface Start {
  readonly record: "rlm_start";
  readonly exec_id: string;
  readonly kind: ExecKind;
  /** The cell's source, or what the host asked for. */
  readonly input: Json;
  /** ms since the epoch. */
  readonly at: number;
}

/** Written before the call is sent. */
export interface ToolCall {
  readonly record: "rlm_tool_call";
  readonly exec_id: string;
  readonly call_id: string;
  readonly name: string;
  readonly args: readonly Json[];
  readonly at: number;
}

/** Written before the guest sees the answer. */
export interface ToolResult {
  readonly record: "rlm_tool_result";
  readonly exec_id: string;
  readonly call_id: string;
  readonly success: boolean;
  /** The answer, or the error that the guest sees. */
  readonly value: Json;
  readonly usage: Usage;
  /** Requests that failed and were sent again. */
  readonly attempts: readonly Attempt[];
  /** `provider/id`; empty where no model was asked. */
  readonly model: string;
  /** By policy, or for want of a price: nothing was sent, and it counts as no sub-call. */
  readonly refused: boolean;
  readonly tool_override_event: ToolOverrideEvent | null;
  readonly at: number;
}

export interface Attempt {
  readonly code: string;
  /** How long was waited before the next one, ms. */
  readonly waited_ms: number;
}

export interface Complete {
  readonly record: "rlm_complete";
  readonly exec_id: string;
  readonly kind: ExecKind;
  readonly success: boolean;
  readonly error_code: string | null;
  /** Wall time of the exec, ms: what the budget counts. */
  readonly time_ms: number;
  /** Hash of the context after the exec. */
  readonly context_hash: string | null;
  /** What the exec gathered; null for kinds that run no cell. */
  readonly state: ExecState | null;
  readonly at: number;
}
