import type { ExecLimits } from "./limits.ts";
import type { MachineImage } from "./machine.ts";
import type { Output, Stream } from "./output.ts";
import type { GuestError } from "./traceback.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** All that an exec has gathered so far, serialisable: it is the meta of a checkpoint. */
export interface ExecState {
  readonly exec_id: string;
  /** Number of the cell in its session, 1-based: tracebacks say `<cell 3>`. 0 for the cell of a query, `<query>`. */
  readonly cell: number;
  readonly limits: ExecLimits;
  readonly output: Output;
  /** Each begins with its code. */
  readonly warnings: string[];
  /** Guest running time, ms. */
  running_ms: number;
  /** Counter of the next call's id. */
  next_call: number;
}

/** What a new exec starts with. */
export interface ExecInput {
  readonly source: string;
  readonly state: ExecState;
  /** Whether calls say where they were made. */
  readonly sites?: boolean;
  /** Facts of the session that builtins answer from (budget, sources …); the machine only passes them on. */
  readonly facts: Json;
}

/** A call of an async builtin that the guest awaits. Its id is the exec's id and a counter. */
export interface PendingCall {
  readonly id: string;
  readonly name: string;
  readonly args: readonly Json[];
  /** Where it was made, `<cell 1>:3`; only where the exec asked for sites. */
  readonly site?: string;
}

/** The answer to a call: what the guest's promise is settled with. */
export type Settlement =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly error: CallError };

export interface Answer {
  readonly id: string;
  readonly settlement: Settlement;
}

export interface CallError {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly suggestion: string;
  /** The same call may succeed if it is made again. */
  readonly retriable?: boolean;
}

/** How the guest code of an exec ended. JSON texts stay texts: the machine does not read what a cell returns. */
export type CellEnd =
  | { readonly kind: "ok"; readonly result: string; readonly meta: string | null }
  | {
      readonly kind: "error";
      readonly code: string;
      readonly error: GuestError;
      readonly suggestion: string | null;
    }
  | { readonly kind: "timeout" | "cancelled" };

/** Host → worker. */
export type ToWorker<Message> =
  | { readonly kind: "exec"; readonly input: ExecInput }
  | { readonly kind: "settle"; readonly answers: readonly Answer[]; readonly facts: Json }
  | { readonly kind: "enter"; readonly name: string; readonly payload: Json; readonly maxMs: number }
  /** Ends the exec that waits for calls, as cancelled. */
  | { readonly kind: "stop" }
  | { readonly kind: "copy" }
  | { readonly kind: "library"; readonly message: Message; readonly maxMs: number };

/** Worker → host: exactly one answer to each message that runs the guest. */
export type FromWorker =
  | { readonly kind: "ready" }
  | { readonly kind: "idle"; readonly calls: readonly PendingCall[]; readonly state: ExecState }
  | { readonly kind: "ended"; readonly end: CellEnd; readonly state: ExecState; readonly clean: boolean }
  | { readonly kind: "entered"; readonly value: Json }
  | { readonly kind: "copied"; readonly image: MachineImage }
  | { readonly kind: "refused"; readonly error: CallError }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "notice"; readonly text: string }
  /** Printed in the running slice: what a machine that has to be ended would take with it. */
  | { readonly kind: "printed"; readonly parts: readonly Printed[] };

export interface Printed {
  readonly stream: Stream;
  readonly text: string;
}

/**
 * Words that main thread and worker share (Int32, over a SharedArrayBuffer): the worker cannot read messages while a
 * guest runs.
 */
export const SHARED = {
  /** 1: end the running exec as cancelled. */
  cancel: 0,
  /** 1 while a builtin does work that is not guest running time. */
  offClock: 1,
  /** ms of such work in this slice, finished. */
  offClockMs: 2,
  words: 3,
} as const;
