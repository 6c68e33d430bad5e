import { RlmError } from "../../../runtime/errors.ts";

export function runDiffers(name: string): RlmError {
  return new RlmError("run_differs", `the run ${name} was begun with another script, model, limits or contexts`, {
    suggestion: "Choose another name for this run, or submit what the run was begun with.",
  });
}

export function runNotFound(id: string): RlmError {
  return new RlmError("run_not_found", `the store has no run ${id}`, { suggestion: "`belay jobs` lists the runs." });
}

export function runIsBusy(name: string): RlmError {
  return new RlmError("session_busy", `jobs of the run ${name} are being tried`, {
    suggestion: "Cancel the run, or wait until it is over.",
  });
}
