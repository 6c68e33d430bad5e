import { resumeExec, settle, stopExec } from "./advance.ts";
import { startCell } from "./cells/start-cell.ts";
import { runCommand } from "./enter.ts";
import { type GuestOptions, makeGuest } from "./guest.ts";
import { captureImage } from "./images/capture.ts";
import { openImages } from "./images/images.ts";
import { adoptGuest } from "./images/restore.ts";
import type { Answer, CheckpointRequest, ExecInput, Json, ResumeInput } from "./protocol.ts";

/**
 * One guest and the exec that runs in it. Every method runs guest code to rest and may throw `MachineFault`: the
 * machine is then poisoned and must be discarded with its thread.
 */
export type Machine = Awaited<ReturnType<typeof openMachine>>;

export async function openMachine(options: GuestOptions) {
  const guest = await makeGuest(options);
  const { engine, heap } = guest;
  const { format, restore } = options;
  const images = heap.withoutLimit(() => openImages(guest, format, restore));
  heap.holdsCopy(images.heldBytes());
  if (restore) adoptGuest(guest, restore, images.prelude);
  return {
    startCell: (input: ExecInput) => startCell(guest, input),
    resume: (input: ResumeInput) => resumeExec(guest, input),
    settle: (answers: readonly Answer[], facts: Json) => settle(guest, answers, facts),
    stop: () => stopExec(guest),
    checkpoint: (request: CheckpointRequest) => captureImage(guest, images, request),
    enter: (name: string, payload: Json) => runCommand(guest, name, payload),
    /** The guest as it was when it was opened, in shared memory. */
    baseline: images.baseline,
    /** Bytes of linear memory. */
    linearBytes: engine.linearBytes,
    [Symbol.dispose]: () => engine[Symbol.dispose](),
  };
}
