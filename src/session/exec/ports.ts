import type {
  CheckpointRequest,
  ExecInput,
  ExecState,
  Json,
  PendingCall,
  ResumeInput,
  Sandbox,
  Settlement,
  Waiting,
} from "../../../runtime/index.ts";

/** The part of a machine that the loop needs: to advance it until it rests. */
export interface LoopMachine extends Pick<Sandbox, "start" | "resume" | "settle" | "stop" | "end"> {
  /** The guest waits for answers, and all of it is kept: until one comes its thread may serve other machines. */
  lend?(): void;
}

/** Keeps the records of a running exec. Each `keep` resolves when its commit is on disk. */
export interface LoopJournal<Answered> {
  /** The image that the machine takes by itself when its guest next waits for new calls. */
  nextImage(): CheckpointRequest | null;
  /** Keeps the image and the calls that have no record yet. Without such calls it keeps nothing. */
  keepStep(slice: Waiting): Promise<void>;
  keepResult(call: PendingCall, answered: Answered, signal: AbortSignal): Promise<void>;
}

/** Answers calls. */
export interface LoopCalls<Answered> {
  /** Must not reject: a call that fails is an answer. Ends early when the signal aborts. */
  answer(call: PendingCall, signal: AbortSignal): Promise<Answered>;
  /** The session's facts as they stand now. */
  facts(): Json;
  /** Time that the calls that are out may take to end when they are aborted, ms; undefined: as plain calls. */
  callOffMs?(): number | undefined;
}

/** A recorded call with its answer. It is used only for a call with the same id, name and arguments. */
export interface Replayed {
  readonly id: string;
  readonly name: string;
  readonly args: readonly Json[];
  readonly settlement: Settlement;
}

/** The beginning of an exec: its start or a state in which it waits, and the answers recorded since, in their order. */
export type Beginning =
  | { readonly kind: "start"; readonly input: ExecInput; readonly replay: readonly Replayed[] }
  | { readonly kind: "resume"; readonly input: ResumeInput; readonly replay: readonly Replayed[] };

/** The place from which an interrupted exec continues. */
export interface Continuation {
  /** The state of the checkpoint that the machine was opened from, and what it waits for; null: from the start. */
  readonly at: { readonly state: ExecState; readonly waiting: readonly PendingCall[] } | null;
  /** Recorded answers that the guest in the checkpoint has not got yet, in their order. */
  readonly replay: readonly Replayed[];
  /** Ids of the calls that have a record. */
  readonly recorded: ReadonlySet<string>;
}
