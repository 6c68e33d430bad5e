import type {
  Clock,
  ExecInput,
  ExecState,
  PendingCall,
  ResumeInput,
  Sandbox,
  Settlement,
} from "../../../runtime/index.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import type { Suspend } from "../journal/records.ts";
import type { Parking } from "../parking.ts";
import type { ExecCalls } from "./calls.ts";
import type { ExecJournal } from "./exec-journal.ts";
import type { OnceCalls } from "./once.ts";

/** The part of a machine that the loop needs: to advance it until it rests. */
export interface LoopMachine extends Pick<Sandbox, "start" | "resume" | "settle" | "stop" | "end"> {
  /** The guest waits for answers, and all of it is kept: until one comes its thread may serve other machines. */
  lend?(): void;
}

export interface LoopParts {
  readonly machine: LoopMachine;
  readonly journal: ExecJournal;
  readonly calls: Pick<ExecCalls, "answer" | "facts" | "callOffMs">;
  readonly once: Pick<OnceCalls, "waitMs" | "left">;
  readonly clock: Clock;
  /** Learns what can get further. */
  readonly parking: Pick<Parking, "active" | "idle">;
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
  /** The state of the checkpoint that the machine was opened from, and what it waits for; null: from the start. */
  readonly at: { readonly state: ExecState; readonly waiting: readonly PendingCall[] } | null;
  /** Recorded answers that the guest in the checkpoint has not got yet, in their order. */
  readonly replay: readonly Replayed[];
  /** Ids of the calls that have a record. */
  readonly recorded: ReadonlySet<string>;
  /** Ids of calls that an earlier process has begun to run and must not run twice. They have no result. */
  readonly running: ExecRecords["running"];
  /** The calls that the process before left at a graceful stop; null: it ended otherwise. */
  readonly suspended: Suspend | null;
}
