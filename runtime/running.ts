import type { MachineFault } from "./engine.ts";
import { DEFAULT_EXEC_LIMITS, LIMITS } from "./limits.ts";
import { noOutput } from "./output.ts";
import type { CallError, ExecState, Json, PendingCall, SetAside } from "./protocol.ts";

/** The exec that a guest is in, as the machine drives it and the guest's posts change it. */
export interface Running {
  state: ExecState;
  source: string;
  facts: Json;
  /** Calls made in this slice, not sent yet. */
  fresh: PendingCall[];
  /** Ids of calls that the guest waits for. */
  readonly outstanding: Set<string>;
  /** JSON of the cell's result, as it comes from the guest at its end. */
  parts: string[];
  /** The result is wanted whole, beside what the exec keeps of it. */
  wantsWhole: boolean;
  /** The cell has ended, and how. */
  done: { readonly ok: boolean; readonly payload: string } | undefined;
  /** Backtrace of the call that is being made, where sites are wanted. */
  site: string | undefined;
  /** Helpers that failed in this exec. */
  asides: SetAside[];
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
    parts: [],
    wantsWhole: false,
    done: undefined,
    site: undefined,
    asides: [],
    refusal: undefined,
    fault: undefined,
    granted,
  };
}

/** How long the JSON of a result can be, UTF-16 units: each is at least one byte. */
export function resultRoom({ state, wantsWhole }: Pick<Running, "state" | "wantsWhole">): number {
  return Math.max(state.limits.max_result_bytes, wantsWhole ? LIMITS.wholeResultBytes : 0);
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
