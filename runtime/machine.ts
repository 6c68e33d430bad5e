import { resumeExec, settle, stopExec } from "./advance.ts";
import { startCell } from "./cells/start-cell.ts";
import { runCommand } from "./enter.ts";
import { type GuestOptions, makeGuest } from "./guest.ts";
import { captureImage } from "./images/capture.ts";
import type { Baseline, ImageFormat } from "./images/image.ts";
import { openImages } from "./images/images.ts";
import { adoptGuest } from "./images/restore.ts";
import type { Answer, Checkpoint, CheckpointRequest, ExecInput, Json, ResumeInput, SliceEnd } from "./protocol.ts";

export interface MachineOptions extends GuestOptions {
  /** Format of the images that this build makes. */
  readonly format: ImageFormat;
}

/**
 * One guest and the exec that runs in it. Every method runs guest code to rest and may throw `MachineFault`: the
 * machine is then poisoned and must be discarded with its thread.
 */
export interface Machine extends Disposable {
  /** See `Sandbox.origin`. */
  readonly origin: string;
  /** Begins an exec and runs its cell. */
  startCell(input: ExecInput): SliceEnd;
  /** Continues the exec that waits in the image; runs nothing yet. */
  resume(input: ResumeInput): SliceEnd;
  /** Gives calls their answers, in this order. Guest code that waits for one runs before the next is given. */
  settle(answers: readonly Answer[], facts: Json): SliceEnd;
  /** Ends an exec that waits for calls; the host has set the `cancel` word. */
  stop(): SliceEnd;
  /** Captures an image of the guest, which must be at rest: between execs, or while one waits for calls. */
  checkpoint(request: CheckpointRequest, maxMs: number): Checkpoint;
  /** Runs a guest command between execs. @throws RlmError with what the command threw */
  enter(name: string, payload: Json, maxMs: number): Json;
  /** The guest as it was when it was opened, in shared memory. */
  baseline(): Baseline;
  /** Bytes of linear memory. */
  linearBytes(): number;
}

export async function openMachine(options: MachineOptions): Promise<Machine> {
  const guest = await makeGuest(options);
  const { engine, heap, library, prelude } = guest;
  const { format, restore } = options;
  const images = heap.withoutLimit(() => openImages({ library, engine, format, prelude, opened: restore?.image }));
  if (restore) adoptGuest(guest, restore, images);
  return {
    origin: images.origin,
    startCell: (input) => startCell(guest, input),
    resume: (input) => resumeExec(guest, input),
    settle: (answers, facts) => settle(guest, answers, facts),
    stop: () => stopExec(guest),
    checkpoint: (request, maxMs) => captureImage(guest, images, request, maxMs),
    enter: (name, payload, maxMs) => runCommand(guest, name, payload, maxMs),
    baseline: images.baseline,
    linearBytes: () => engine.image().memory.length,
    [Symbol.dispose]: () => engine[Symbol.dispose](),
  };
}
