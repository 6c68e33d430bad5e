import { helpersIn, OUT_OF_MEMORY } from "../cells/run-helpers.ts";
import { startCell } from "../cells/start-cell.ts";
import { noRoom } from "../ends.ts";
import { MachineFault } from "../engine.ts";
import { enterCommand } from "../enter.ts";
import type { Guest } from "../guest.ts";
import { COMMAND_MS, DEFAULT_EXEC_LIMITS } from "../limits.ts";
import type { Checkpoint, CheckpointRequest, Json } from "../protocol.ts";
import { idleState } from "../running.ts";
import type { Images } from "./images.ts";

/**
 * Captures an image of a guest at rest: between execs, or while one waits for calls. If the request's commands list the helpers,
 * the guest is checked too, and tried out if it has little room left.
 *
 * @throws MachineFault if the guest is not at rest or not sound; RlmError `memory_limit_exceeded` if no other cell could run
 */
export function captureImage(guest: Guest, images: Images, request: CheckpointRequest): Checkpoint {
  const { engine, heap, clock, library, running } = guest;
  const from = clock.monotonic();
  clock.start(0, COMMAND_MS);
  // If the exec was cancelled its state is saved all the same.
  clock.grace(COMMAND_MS);
  const answers = heap.withSpareBytes(() => request.commands.map((name) => enterCommand(guest, name, null)));
  if (engine.hasJob()) throw new MachineFault("a checkpoint was asked for while the guest had work to do");
  const helpers = answers[request.commands.indexOf(library.preamble.list)];
  const isSpent = helpers !== undefined && !hasRoom(guest, helpers);
  if (engine.linearBytes() - heap.granted() > CLEARED_BYTES) engine.clearFree();
  const { isKept, ...delta } = heap.withoutLimit(() => images.capture(request, heap.granted(), heap.copiesBytes));
  heap.holdsCopy(images.heldBytes());
  const waiting = [...running.outstanding];
  if (isSpent) tryOut(guest);
  return { delta, answers, waiting, ms: clock.monotonic() - from, isSpent: isSpent || !isKept };
}

/** In linear memory that is smaller there is little that is free. */
const CLEARED_BYTES = 8 * 2 ** 20;

/**
 * True if the guest is certainly sound and has room for the next cell and its helpers. If not, `tryOut` finds out. Costs next
 * to nothing.
 *
 * @param helpers what the guest command `preamble.list` answered
 */
function hasRoom({ engine, heap, scripts }: Guest, helpers: Json): boolean {
  const room = helpersIn(helpers).reduce((sum, { name, code }) => {
    const { source, names } = scripts.helper(name, code);
    return sum + source.length * ROOM_PER_HELPER_UNIT + names * ROOM_PER_HELPER_NAME;
  }, ROOM_BYTES);
  const dropped = heap.withholding(Math.min(room, heap.limitBytes / 2), () => engine.enter("drop", PROBE));
  return dropped.ok && (dropped.value === "jtrue" || dropped.value === "jnull");
}

/**
 * A guest with less room than this is tried out before its state is kept, and opened anew, which takes 0.15 s. A small cell
 * needs less than 50 KB beside what must be left. Room for a helper, in bytes for each unit of its code
 * and for each name. Helpers of 900 KB took 20 MB with 9,000 functions, 13 MB as one list, and 70 MB with 60,000 small
 * functions.
 */
const ROOM_BYTES = 1.25 * 2 ** 20;
const ROOM_PER_HELPER_UNIT = 16;
const ROOM_PER_HELPER_NAME = 1024;
/** JSON that is longer than what the engine keeps room for in small blocks: the engine must ask for memory. */
const PROBE = `${" ".repeat(1024)}null`;

/**
 * Runs helpers and a small cell with little room to spare. The guest has changed afterwards.
 *
 * @throws RlmError `memory_limit_exceeded` if the next cell could not run for lack of memory; MachineFault if it could not run
 * for another reason
 */
function tryOut(guest: Guest): void {
  const limits = { ...DEFAULT_EXEC_LIMITS, max_execution_ms: TRIAL_MS };
  const input = { source: "1 + 1", state: { ...idleState(), cell: 1, limits }, facts: null };
  // If the exec that ends here was cancelled, that does not concern the next one.
  const tried = guest.clock.ignoringCancel(() =>
    guest.heap.withholding(TRIAL_SPARE_BYTES, () => startCell(guest, input)),
  );
  if (tried.kind === "idle") throw new MachineFault("the guest did not end a cell");
  const { end, clean, asides } = tried;
  const isFull = end.kind === "error" && end.code === "memory_limit_exceeded";
  if (isFull || asides.some(({ why }) => why === OUT_OF_MEMORY)) throw noRoom("another cell");
  // A helper that fails in another way does not make the guest unsound: the next cell reports it.
  if (!clean || (end.kind !== "ok" && asides.length === 0)) throw new MachineFault("the guest cannot run a cell");
}

/** Room that a tried guest must have left. */
const TRIAL_SPARE_BYTES = 2 ** 20;
const TRIAL_MS = 5000;
