import { runToRest, startClock } from "../advance.ts";
import { endExec } from "../end-exec.ts";
import { foundEnd, sourceTooLarge, syntaxEnd } from "../ends.ts";
import { MachineFault } from "../engine.ts";
import { step } from "../enter.ts";
import type { Guest } from "../guest.ts";
import { LIMITS } from "../limits.ts";
import type { CellEnd, Ended, ExecInput, SliceEnd } from "../protocol.ts";
import { addWarning, beginExec, TYPES_LEFT_OUT } from "../running.ts";
import { CellSyntaxError } from "./checks.ts";
import { runHelpers } from "./run-helpers.ts";

/** Begins an exec and runs its cell until the guest waits for calls or the exec is over. */
export function startCell(guest: Guest, input: ExecInput): SliceEnd {
  const { clock, library, running } = guest;
  beginExec(running, input);
  library.exec?.begin();
  startClock(guest);
  if (clock.shouldStop()) return endExec(guest, { kind: "cancelled" });
  if (Buffer.byteLength(input.source) > LIMITS.sourceBytes) return endExec(guest, sourceTooLarge(input.source));
  try {
    const ended = enterCell(guest, input);
    if (ended) return ended;
  } catch (error) {
    const end = endOf(guest, error);
    if (end) return endExec(guest, end);
    throw error;
  }
  return runToRest(guest);
}

/** Runs the helpers and then the cell, up to the cell's first wait. Returns the exec's end if a helper ended it. */
function enterCell(guest: Guest, { sites = false, seed, kept }: ExecInput): Ended | undefined {
  const { engine, heap, library, running, scripts } = guest;
  const { cell, limits } = running.state;
  // Cell 0 is the host's own: it gets builtins as parameters.
  const script = cell === 0 ? null : scripts.cell(cell, running.source, kept);
  if (script?.isTypeScript) addWarning(running, TYPES_LEFT_OUT);
  const options = {
    completion: script?.completion ?? false,
    shadows: script?.declared.filter((name) => library.younger.has(name)) ?? [],
    outputUnits: limits.max_output_bytes,
    sites,
    ...(seed ? { seed } : {}),
  };
  heap.withSpareBytes(() => step(guest, "begin", options));
  const command = library.beginning();
  if (command !== null) step(guest, command, null);
  const ended = runHelpers(guest);
  if (ended) return ended;
  if (script) engine.startCell(script.source, script.filename);
  else {
    const own = scripts.own(running.source);
    engine.startOwnCell(own.source, own.filename);
  }
  return undefined;
}

/** The end of a cell that could not be started; null if that is a fault. */
function endOf({ heap, running }: Guest, error: unknown): CellEnd | null {
  if (error instanceof CellSyntaxError) return syntaxEnd(error, running.state.cell);
  const lowered = error instanceof MachineFault ? heap.overLimit() : null;
  return lowered && foundEnd(lowered);
}
