import type { GuestImage, ImageDelta } from "./image.ts";
import type { ExecLimits } from "./limits.ts";
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
  /** The result is wanted whole, up to `LIMITS.wholeResultBytes`, beside what the exec keeps of it. */
  readonly wantsWhole?: boolean;
  /** Facts of the session that builtins answer from (budget, sources …); the machine only passes them on. */
  readonly facts: Json;
  /** What the guest's Math.random goes on from; without it, from where it stands. */
  readonly seed?: Seed;
}

/** State of a random generator: four numbers of 32 bits. */
export type Seed = readonly [number, number, number, number];

/** What an exec goes on with in a guest that was opened from an image with `pending: "keep"`. */
export interface ResumeInput {
  readonly source: string;
  /** As it was when the image was taken. */
  readonly state: ExecState;
  readonly facts: Json;
  /** As in `ExecInput`. */
  readonly wantsWhole?: boolean;
  /** The calls that the guest in the image waits for. */
  readonly waiting: readonly PendingCall[];
}

/** Which image to take of a guest at rest. */
export interface CheckpointRequest {
  readonly id: string;
  /** Id of the image that the changes shall be of; where it is not at hand, and for null, the delta is whole. */
  readonly base: string | null;
  /** An `end` becomes the image that later ends can be based on, steps between them or not. */
  readonly kind: "step" | "end";
  /** Guest commands that are run first, such as `memory.export`. */
  readonly commands: readonly string[];
}

export interface Checkpoint {
  readonly delta: ImageDelta;
  /** What the commands answered, in their order. */
  readonly answers: readonly Json[];
  /** Ids of the calls that the guest in the image waits for; none between execs. */
  readonly waiting: readonly string[];
  /** How long it took to take, ms. */
  readonly ms: number;
  /** The guest was tried out after the image was taken: it is not in this state any more, and must be opened anew from it. */
  readonly isSpent: boolean;
}

/** A helper that failed when it ran, and is left out from now on. */
export interface SetAside {
  readonly name: string;
  readonly why: string;
}

/** What a guest is made from in place of a fresh one. */
export interface Restoration {
  readonly image: GuestImage;
  /** `drop` forgets the calls that the guest in the image waits for, and with them the cell that made them. */
  readonly pending: "keep" | "drop";
  /** Earlier cells as they were written: tracebacks show their columns. */
  readonly cells: readonly { readonly number: number; readonly source: string }[];
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

/** How a slice of guest running ended: the guest waits for calls, or the exec is over. */
export type SliceEnd = Idle | Ended;

export interface Idle {
  readonly kind: "idle";
  /** Calls that were made in the slice. */
  readonly calls: readonly PendingCall[];
  readonly state: ExecState;
}

export interface Ended {
  readonly kind: "ended";
  readonly end: CellEnd;
  readonly state: ExecState;
  /** Whether the guest came to rest and is sound. */
  readonly clean: boolean;
  /** JSON of the result if it was wanted whole; null otherwise, and if it has more than `LIMITS.wholeResultBytes`. */
  readonly whole: string | null;
  /** Helpers that failed. */
  readonly asides: readonly SetAside[];
}

/** Host → worker. */
export type ToThread<Message> =
  | { readonly kind: "start"; readonly input: ExecInput; readonly checkpoint: CheckpointRequest | null }
  | { readonly kind: "resume"; readonly input: ResumeInput }
  | {
      readonly kind: "settle";
      readonly answers: readonly Answer[];
      readonly facts: Json;
      /** To be taken where the guest then waits for new calls. */
      readonly checkpoint: CheckpointRequest | null;
    }
  | { readonly kind: "enter"; readonly name: string; readonly payload: Json; readonly maxMs: number }
  /** Ends the exec that waits for calls, as cancelled. */
  | { readonly kind: "stop" }
  | { readonly kind: "checkpoint"; readonly request: CheckpointRequest; readonly maxMs: number }
  | { readonly kind: "library"; readonly message: Message; readonly maxMs: number }
  /** Drops the machine; the worker can open another one. */
  | { readonly kind: "close" };

/** Worker → host: exactly one answer to each message that runs the guest. */
export type FromThread =
  | { readonly kind: "ready"; readonly origin: string }
  | (Idle & {
      /** What `checkpoint` would have been answered; null if no image was wanted, or if no call is new. */
      readonly checkpoint: CaptureReply | null;
    })
  | Ended
  | { readonly kind: "entered"; readonly value: Json }
  /** `isSmall`: what the machine took in memory is not worth ending the worker for. */
  | { readonly kind: "closed"; readonly isSmall: boolean }
  | CaptureReply
  | { readonly kind: "notice"; readonly text: string }
  /** Printed in the running slice: what a machine that has to be ended would take with it. */
  | { readonly kind: "printed"; readonly parts: readonly Printed[] };

export type CaptureReply =
  | { readonly kind: "checkpointed"; readonly checkpoint: Checkpoint }
  | { readonly kind: "refused"; readonly error: CallError }
  | { readonly kind: "failed"; readonly message: string };

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
  /** 1 from when the guest came to rest and its image is taken until the next message: no limit of it counts any more. */
  capturing: 3,
  words: 4,
} as const;
