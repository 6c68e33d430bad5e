import { MachineFault } from "../engine.ts";
import { enterCommand } from "../enter.ts";
import type { Guest } from "../guest.ts";
import type { Checkpoint, CheckpointRequest } from "../protocol.ts";
import type { Images } from "./images.ts";
import { hasRoom, tryOut } from "./self-check.ts";

/**
 * Captures an image of a guest at rest: between execs, or while one waits for calls. If the request's commands list the helpers,
 * the guest is checked too, and tried out if it has little room left.
 *
 * @throws MachineFault if the guest is not at rest or not sound; RlmError `memory_limit_exceeded` if no other cell could run
 */
export function captureImage(guest: Guest, images: Images, request: CheckpointRequest, maxMs: number): Checkpoint {
  const { engine, heap, clock, library, running } = guest;
  const from = clock.monotonic();
  clock.start(0, maxMs);
  // If the exec was cancelled its state is saved all the same.
  clock.grace(maxMs);
  const answers = heap.withSpareBytes(() => request.commands.map((name) => enterCommand(guest, name, null)));
  if (engine.hasJob()) throw new MachineFault("a checkpoint was asked for while the guest had work to do");
  const helpers = library.preamble && answers[request.commands.indexOf(library.preamble.list)];
  const isSpent = helpers !== undefined && !hasRoom(guest, helpers);
  const delta = heap.withoutLimit(() => images.capture(request, heap.granted()));
  const waiting = [...running.outstanding];
  if (isSpent) tryOut(guest);
  return { delta, answers, waiting, ms: clock.monotonic() - from, isSpent };
}
