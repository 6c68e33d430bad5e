import type { MachineFault } from "./engine.ts";
import { DEFAULT_EXEC_LIMITS } from "./limits.ts";
import { noOutput } from "./output.ts";
import type { CallError, ExecState, Json, PendingCall } from "./protocol.ts";

/** The exec that a guest is in, as the machine drives it and the guest's posts change it. */
export interface Running {
  state: ExecState;
  source: string;
  facts: Json;
  /** Calls made in this slice, not sent yet. */
  fresh: PendingCall[];
  /** Ids of calls that the guest waits for. */
  readonly outstanding: Set<string>;
  /** The cell has ended, and how. */
  done: { readonly ok: boolean; readonly payload: string } | undefined;
  /** Backtrace of the call that is being made, where sites are wanted. */
  site: string | undefined;
  /** Every further call is answered with this. */
  refusal: CallError | undefined;
  /** A fault of ours: the machine must not be used any more. */
  fault: MachineFault | undefined;
  /** Bytes that the guest may hold beyond its own limit. */
  granted: number;
}

export function nothingRunning(granted: number): Running {
  return {
    state: idleState(),
    source: "",
    facts: null,
    fresh: [],
    outstanding: new Set(),
    done: undefined,
    site: undefined,
    refusal: undefined,
    fault: undefined,
    granted,
  };
}

/** Between execs, for commands of the host. */
export function idleState(): ExecState {
  return {
    exec_id: "",
    cell: 0,
    limits: DEFAULT_EXEC_LIMITS,
    output: noOutput(),
    warnings: [],
    running_ms: 0,
    next_call: 0,
  };
}
