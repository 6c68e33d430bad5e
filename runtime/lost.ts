import { placeless } from "./ends.ts";
import { RlmError } from "./errors.ts";
import { appendOutput, outputWarning } from "./output.ts";
import type { CellEnd, ExecState, Printed } from "./protocol.ts";
import { CANCELLED, TIMED_OUT } from "./threads/watchdog.ts";

/** Why an exec was ended by `ExecSignals.suspend`. */
export const SUSPENDED = "suspended";

/** The error for a message to a machine that is gone. */
export function machineLost(why: string): RlmError {
  return new RlmError("machine_lost", `the machine is gone: ${why}`, {
    suggestion: "Run the cell again; if it happens again, make the cell smaller and report it.",
  });
}

/** The reason of a machine's failure. */
export const faultOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The end of an exec whose machine was ended while it ran. */
export function lostEnd(why: string): CellEnd {
  if (why === TIMED_OUT) return { kind: "timeout" };
  if (why === CANCELLED || why === SUSPENDED) return { kind: "cancelled" };
  return placeless("machine_lost", "MachineFault", why, machineLost(why).suggestion);
}

/** The state of an exec whose machine was ended, with what the exec is known to have printed. */
export function withPrinted(last: ExecState, printed: readonly Printed[]): ExecState {
  const state = structuredClone(last);
  for (const { stream, text } of printed) appendOutput(state.output, stream, text, state.limits.max_output_bytes);
  if (state.output.truncated) state.warnings.push(outputWarning(state.output, state.limits.max_output_bytes));
  return state;
}
