import { cutExec, endExec, thrownEnd } from "../end-exec.ts";
import { readThrown } from "../ends.ts";
import type { Entered } from "../engine.ts";
import { listOf, step } from "../enter.ts";
import type { Guest } from "../guest.ts";
import type { Ended, Json, SetAside } from "../protocol.ts";
import { remedy } from "../remedies.ts";
import { addWarning } from "../running.ts";

/**
 * Runs the helpers before a cell. A helper that fails is left out from now on; it ends the exec,
 * unless there was not enough memory for it. Returns the exec's end if the cell must not run.
 */
export function runHelpers(guest: Guest): Ended | undefined {
  const { engine, heap, library, scripts } = guest;
  const listed = heap.withSpareBytes(() => step(guest, library.preamble.list, null));
  for (const { name, code, aside } of helpersIn(listed)) {
    const script = scripts.helper(name, code);
    if (aside) {
      warnOf(guest, { name, why: aside });
      continue;
    }
    const ran = engine.runPreamble(script.source, script.filename);
    const failed = ran.ok ? undefined : helperFailed(guest, name, ran);
    if (failed) return failed;
  }
  return undefined;
}

/**
 * The helpers in an answer of the guest command `preamble.list`. `aside` says why one is left out,
 * and is empty if it is not.
 */
export function helpersIn(answer: Json) {
  return listOf(answer).map((item) => {
    return { name: text(item, "name"), code: text(item, "code"), aside: text(item, "aside") };
  });
}

function helperFailed(guest: Guest, name: string, ran: Entered & { ok: false }): Ended | undefined {
  const { clock, heap } = guest;
  if (clock.stopped() === "cancelled") return cutExec(guest);
  if (clock.stopped()) {
    setAside(guest, { name, why: "it did not end in time" });
    return cutExec(guest);
  }
  const end = thrownEnd(guest, readThrown(ran));
  const isFull = end.code === "memory_limit_exceeded";
  // The helper is not at fault, and will run if the limit is raised.
  if (isFull && heap.overLimit()) return endExec(guest, end);
  setAside(guest, { name, why: isFull ? OUT_OF_MEMORY : (end.error.traceback.split("\n", 1)[0] ?? "") });
  const suggestion = `The helper ${name} is left out from now on: add it again when it is corrected, or ${remedy("removeHelper", JSON.stringify(name))}.`;
  return isFull ? undefined : endExec(guest, { ...end, suggestion });
}

/** Why a helper is left out that the guest had no memory for. */
export const OUT_OF_MEMORY = "out of memory";

function setAside(guest: Guest, aside: SetAside): void {
  guest.running.asides.push(aside);
  warnOf(guest, aside);
}

function warnOf({ running }: Guest, { name, why }: SetAside): void {
  addWarning(running, `helper_set_aside: ${name}: ${why}`);
}

function text(value: Json, key: string): string {
  const field = typeof value === "object" && value !== null && key in value ? Reflect.get(value, key) : "";
  return typeof field === "string" ? field : "";
}
