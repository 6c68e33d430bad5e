import type { GuestError } from "./cells/traceback.ts";
import type { Baseline, GuestImage, ImageDelta, ImageFormat } from "./images/image.ts";
import type { ExecLimits } from "./limits.ts";
import type { Output, Stream } from "./output.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The state that an exec has gathered so far. It is serialisable, since a checkpoint keeps it. */
export interface ExecState {
  readonly exec_id: string;
  /**
   * Number of the cell in its session, 1-based: tracebacks say `<cell 3>`. 0 for the cell of a
   * query, `<query>`.
   */
  readonly cell: number;
  readonly limits: ExecLimits;
  readonly output: Output;
  /** Each begins with its code. */
  readonly warnings: string[];
  /** Guest running time, ms. */
  running_ms: number;
  /** Counter of the next call's id. */
  next_call: number;
  /** The value that the cell gave to `answer` last; absent if it has not called it. */
  answer?: GivenAnswer;
  /** The library's state of the exec; absent if it keeps nothing. */
  library?: Json;
}

/** An answer as a cell gave it: neither is checked against P. */
export interface GivenAnswer {
  readonly value: Json;
  readonly cite: Json;
}

/** The start of a new exec. */
export interface ExecInput {
  readonly source: string;
  readonly state: ExecState;
  /** True if calls tell their place in the source. */
  readonly sites?: boolean;
  /** Names of builtins that the cell may not declare, though other cells may. */
  readonly kept?: readonly string[];
  /**
   * True if the result is wanted whole, up to `LIMITS.wholeResultBytes`, in addition to what the
   * exec keeps of it.
   */
  readonly wantsWhole?: boolean;
  /**
   * Facts of the session that builtins answer from (budget, sources …); the machine only passes
   * them on.
   */
  readonly facts: Json;
  /**
   * The state that the guest's Math.random continues from. Without it, it continues from its own.
   */
  readonly seed?: Seed;
}

/** State of a random generator: four numbers of 32 bits. */
type Seed = readonly [number, number, number, number];

/**
 * The start of an exec that continues in a guest which was opened from an image with
 * `pending: "keep"`: `state` is that of the capture.
 */
export interface ResumeInput extends Pick<ExecInput, "source" | "state" | "facts" | "wantsWhole"> {
  /** The calls that the guest in the image waits for. */
  readonly waiting: readonly PendingCall[];
}

/** Which image to capture of a guest at rest. */
export interface CheckpointRequest {
  readonly id: string;
  /**
   * Id of the image that the delta is based on. If it is null, or not at hand, the delta is whole.
   */
  readonly base: string | null;
  /** Later ends can be based on an `end`, whether or not steps lie between. */
  readonly kind: "step" | "end";
  /** Guest commands that are run first, such as `memory.export`. */
  readonly commands: readonly string[];
}

/** The image of a slice: it is captured as soon as the guest waits for new calls. */
export interface SliceImage extends CheckpointRequest {
  /** It is captured in its place if the exec has ended and the guest is sound. */
  readonly atEnd?: CheckpointRequest;
  /** Only `atEnd` is captured: the host asks for another image by itself if the guest waits long. */
  readonly isLate?: boolean;
}

export interface Checkpoint {
  readonly delta: ImageDelta;
  /** Answers of the commands, in their order. */
  readonly answers: readonly Json[];
  /** Ids of the calls that the guest in the image waits for. Between execs there are none. */
  readonly waiting: readonly string[];
  /** Time that the capture took, ms. */
  readonly ms: number;
  /**
   * True if the guest was tried out afterwards: it has changed since, and must be opened anew from
   * the image.
   */
  readonly isSpent: boolean;
}

/** A helper that failed when it ran, and is left out from now on. */
export interface SetAside {
  readonly name: string;
  readonly why: string;
}

/** An image that a guest is made from. */
export interface Restoration {
  readonly image: GuestImage;
  /**
   * That of a fresh guest: the exec's end is captured as what has changed since. Absent: since
   * `image`.
   */
  readonly fresh?: GuestImage;
  /**
   * `drop` forgets the calls that the guest in the image waits for, and with them the cell that
   * made them.
   */
  readonly pending: "keep" | "drop";
  /** Earlier cells as they were written, since tracebacks show columns in them. */
  readonly cells: readonly { readonly number: number; readonly source: string }[];
}

/** The origin of a machine that is opened. */
export interface MachineSetup<Message> {
  readonly memoryBytes: number;
  /** The image of an exec's end or of a waiting exec; or that of a fresh guest. */
  readonly from: Restoration | Baseline;
  /** For the library, before the guest is made. */
  readonly message?: Message;
}

/** A call of an async builtin that the guest awaits. Its id is the exec's id and a counter. */
export interface PendingCall {
  readonly id: string;
  readonly name: string;
  readonly args: readonly Json[];
  /** The place of its caller, such as `<cell 1>:3`. Only present if the exec asked for sites. */
  readonly site?: string;
  /** The number of calls that it counts as, with those that it may make in turn. Absent: 1. */
  readonly counts?: number;
}

/** The outcome with which the guest's promise of a call is settled. */
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
  /** True if the call may succeed if it is made again. */
  readonly retriable?: boolean;
}

/**
 * The end of an exec's guest code. JSON stays text here, since the machine does not read what a
 * cell returns.
 */
export type CellEnd =
  | { readonly kind: "ok"; readonly result: string; readonly meta: string | null }
  | {
      readonly kind: "error";
      readonly code: string;
      readonly error: GuestError;
      readonly suggestion: string | null;
    }
  | { readonly kind: "timeout" | "cancelled" };

/** The end of a slice of guest code: the guest waits for calls, or the exec has ended. */
export type SliceEnd = Idle | Ended;

interface Idle {
  readonly kind: "idle";
  /** Calls that were made in the slice. */
  readonly calls: readonly PendingCall[];
  readonly state: ExecState;
}

export interface Ended {
  readonly kind: "ended";
  readonly end: CellEnd;
  readonly state: ExecState;
  /** True if the guest came to rest and is sound. */
  readonly clean: boolean;
  /**
   * JSON of the result if it was wanted whole; null otherwise, and if it has more than
   * `LIMITS.wholeResultBytes`.
   */
  readonly whole: string | null;
  /** Helpers that failed. */
  readonly asides: readonly SetAside[];
}

/** Facts that a thread needs before it serves machines. */
export interface ThreadSetup {
  readonly wasm: WebAssembly.Module;
  readonly format: ImageFormat;
  readonly shared: Int32Array;
  /**
   * SHA-256 of the prelude of this build, hex: see `ImageMeta.prelude`. `null` if the thread makes the
   * image of a fresh guest first.
   */
  readonly prelude: string | null;
}

/** Host → the machine's thread. */
export type ToThread<Message> =
  /** The first message to a thread. */
  | { readonly kind: "begin"; readonly setup: ThreadSetup }
  | { readonly kind: "open"; readonly setup: MachineSetup<Message> }
  | { readonly kind: "start"; readonly input: ExecInput; readonly checkpoint: SliceImage | null }
  | { readonly kind: "resume"; readonly input: ResumeInput }
  | {
      readonly kind: "settle";
      readonly answers: readonly Answer[];
      readonly facts: Json;
      readonly checkpoint: SliceImage | null;
    }
  | { readonly kind: "enter"; readonly name: string; readonly payload: Json }
  /** Ends the exec that waits for calls, as cancelled. */
  | { readonly kind: "stop" }
  | { readonly kind: "checkpoint"; readonly request: CheckpointRequest }
  | { readonly kind: "library"; readonly message: Message }
  /** Drops the machine. The thread can open another one. */
  | { readonly kind: "close" };

/** The answers of the machine's thread. */
export type FromThread =
  | { readonly kind: "ready"; readonly baseline: Baseline | null }
  | { readonly kind: "opened" }
  | (SliceEnd & {
      /**
       * The image that was wanted, or why there is none; null if none was wanted, or if no call is
       * new.
       */
      readonly checkpoint: Capture | null;
    })
  | { readonly kind: "entered"; readonly value: Json }
  | { readonly kind: "closed" }
  | Checkpointed;

interface Checkpointed {
  readonly kind: "checkpointed";
  readonly checkpoint: Checkpoint;
}

/**
 * After `failed` the machine is poisoned. If an image was refused, asking for it again says why.
 */
export type Capture =
  | Checkpointed
  | { readonly kind: "refused" }
  | { readonly kind: "failed"; readonly message: string };

/** Notes of the machine's thread while it works on a message. */
export type ThreadNote =
  | { readonly kind: "notice"; readonly text: string }
  /** Printed in the running slice. It would be lost if the machine had to be ended. */
  | { readonly kind: "printed"; readonly parts: readonly Printed[] };

export interface Printed {
  readonly stream: Stream;
  readonly text: string;
}

/**
 * Words that the main thread and the machine's thread share (Int32, over a SharedArrayBuffer),
 * since a thread cannot read messages while a guest runs.
 */
export const SHARED = {
  /** 1 if the running exec is to end as cancelled. */
  cancel: 0,
  /** 1 while a builtin does work that is not guest running time. */
  offClock: 1,
  /** ms of such work that is finished in this slice. */
  offClockMs: 2,
  /**
   * 1 from the capture of an image until the next message. The watchdog then ignores the exec's
   * time limit.
   */
  capturing: 3,
  /** 1 once the machine takes so much memory that its thread serves no other one. */
  isLarge: 4,
  words: 5,
} as const;
