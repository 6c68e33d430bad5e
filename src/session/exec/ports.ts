import type {
  Clock,
  ExecInput,
  ExecSignals,
  ExecState,
  Json,
  PendingCall,
  ResumeInput,
  Sandbox,
  Settlement,
  SliceImage,
  Waiting,
} from "../../../runtime/index.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import type { Suspend, ToolCall, WaitsFor } from "../journal/records.ts";
import type { Answered, CallContext } from "../sub-calls/port.ts";
import type { Suspension } from "../suspension.ts";

/** The part of a machine that the loop needs: to advance it until it rests. */
export interface LoopMachine extends Pick<Sandbox, "start" | "resume" | "settle" | "stop" | "end"> {
  /** The guest waits for answers, and all of it is kept: until one comes its thread may serve other machines. */
  release?(exec: WaitingExec): void;
}

/** An exec that waits for calls, as far as it is not in its newest checkpoint. */
export interface WaitingExec {
  readonly input: Pick<ExecInput, "source" | "wantsWhole" | "facts">;
  /** The state of its newest slice. */
  readonly state: ExecState;
  /** Those that the exec was begun with. */
  readonly signals: ExecSignals;
}

export interface LoopParts {
  readonly machine: LoopMachine;
  readonly journal: ExecJournal;
  readonly calls: Pick<ExecCalls, "answer" | "facts" | "callOffMs">;
  readonly once: Pick<OnceCalls, "waitMs" | "left">;
  readonly clock: Clock;
  /** Learns what can get further. */
  readonly suspension: Pick<Suspension, "active" | "idle">;
  /** Tells what the guest has printed by now; absent: people get it when the exec ends. */
  printed?(state: Pick<ExecState, "output">): void;
  /** The failure that calls of a suspended exec wait for; null, or absent: they wait for nobody. */
  waitsFor?(): WaitsFor | null;
}

/** Keeps the records of an exec that runs, one commit each. Each `keep` resolves when its commit is on disk. */
export interface ExecJournal {
  /** The image that the machine takes by itself when its guest next waits for new calls, or when the exec ends. */
  nextImage(): SliceImage | null;
  /** Keeps the image and the calls that have no record yet. Without such calls it keeps nothing. */
  keepStep(slice: Waiting): Promise<void>;
  /** Keeps the image of the guest that waits, if `keepStep` has kept calls without one. Absent: it keeps them with theirs. */
  keepLateImage?(slice: Waiting): Promise<void>;
  /** Keeps that a call is about to run which must not run twice. */
  keepRun(call_id: string): Promise<void>;
  keepResult(call: PendingCall, answered: Answered, signal: AbortSignal): Promise<void>;
  /** Keeps what a graceful stop leaves open. Nothing is kept after it. */
  keepSuspend(left: Omit<Suspend, "record" | "exec_id" | "at">): Promise<void>;
}

/** The calls of one exec. They are answered, hold a part of the budget, and are reported as progress. */
export interface ExecCalls {
  /** The facts of a new call that its record keeps: how it is asked if it does not say it itself, the effects of a function. */
  marks(call: Pick<PendingCall, "name">): Pick<ToolCall, "thinking" | "sampling" | "effects">;
  /** The session's current facts. */
  facts(): Json;
  /**
   * Must not reject, unless the store fails: a call that fails is an answer. Ends early when the signal aborts.
   * @param hold as {@link CallContext.hold}
   */
  answer(call: PendingCall, signal: AbortSignal, hold: CallContext["hold"]): Promise<Answered>;
  /** Time that the calls that are out may take to end when they are aborted, ms; `undefined`: as plain calls. */
  callOffMs(): number | undefined;
  /** The records of new calls are kept. */
  made(): void;
  /** The record of an answer is kept: the ledger has what the call spent. */
  answered(call: PendingCall, isDone: boolean): void;
}

/** Calls of functions with the effects `once`, which must not run twice. */
export interface OnceCalls {
  /** True if an earlier process has begun to run the call: it must not run again. */
  hasBegun(id: string): boolean;
  /** The time for which a graceful stop waits for these calls, ms. The person is told of it. */
  waitMs(running: readonly PendingCall[]): number;
  /** The ids of calls that this process has begun to run, and that have no answer when a graceful stop ends. */
  left(begun: ReadonlySet<string>): Suspend["still_running"];
  /** The answer to a call that may or may not have run. The message says how its process ended. */
  processRestarted(call: PendingCall): Answered;
}

/** A recorded call with its answer. It is used only for a call with the same id, name and arguments. */
export interface Replayed extends PendingCall {
  readonly settlement: Settlement;
}

/** The beginning of an exec: its start or a state in which it waits, and the answers recorded since, in their order. */
export type Beginning =
  | { readonly kind: "start"; readonly input: ExecInput; readonly replay: readonly Replayed[] }
  | { readonly kind: "resume"; readonly input: ResumeInput; readonly replay: readonly Replayed[] };

/** The place from which an interrupted exec continues. */
export interface Continuation {
  /** The state of the checkpoint that the machine was opened from, and what it waits for; `null`: from the start. */
  readonly at: { readonly state: ExecState; readonly waiting: readonly PendingCall[] } | null;
  /** Recorded answers that the guest in the checkpoint has not got yet, in their order. */
  readonly replay: readonly Replayed[];
  /** Ids of the calls that have a record. */
  readonly recorded: ReadonlySet<string>;
  /** Ids of calls that an earlier process has begun to run and must not run twice. They have no result. */
  readonly running: ExecRecords["running"];
  /** The calls that the process before left at a graceful stop; `null`: it ended otherwise. */
  readonly suspended: Suspend | null;
}
