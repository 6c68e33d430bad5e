import { systemClock } from "../clock.ts";
import { RlmError } from "../errors.ts";
import type { Baseline } from "../images/image.ts";
import type { Library } from "../library.ts";
import { LIMITS } from "../limits.ts";
import { type Machine, openMachine } from "../machine.ts";
import type { FromThread, MachineSetup, Printed, Restoration } from "../protocol.ts";
import { openQuickJs } from "../quickjs/quickjs.ts";
import type { ThreadSetup } from "./machine-thread.ts";

/** The machine that a thread serves at the moment, and its library. */
export interface Served<Message> {
  readonly machine: Machine;
  readonly library: Library<Message>;
}

/** Makes the machines of a thread. */
export function openWorkshop<Message>(
  { wasm, format, shared }: ThreadSetup,
  createLibrary: () => Library<Message>,
  say: (message: FromThread) => void,
) {
  const machineOf = (library: Library<Message>, memoryBytes: number, restore?: Restoration) =>
    openMachine({
      library,
      memoryBytes,
      clock: systemClock,
      shared,
      format,
      notice: (text) => say({ kind: "notice", text }),
      printed: openPrintRelay((parts) => say({ kind: "printed", parts })),
      openEngine: (options) => openQuickJs(wasm, options),
      ...(restore ? { restore } : {}),
    });

  return {
    /** Makes the image of a fresh guest. */
    async baseline(): Promise<Baseline> {
      using machine = await machineOf(createLibrary(), LIMITS.guestHeapBytes);
      return machine.baseline();
    },
    /** Opens a machine from an image. @throws RlmError `checkpoint_lost` if the image cannot be opened */
    async open({ from, memoryBytes, message }: MachineSetup<Message>): Promise<Served<Message>> {
      const library = createLibrary();
      try {
        if (message !== undefined) library.receive(message);
        const machine =
          "pages" in from
            ? await machineOf(library, memoryBytes, { image: from.image, pending: "keep", cells: [] })
            : await machineOf(library, memoryBytes, from).catch(unreadable);
        return { machine, library };
      } catch (error) {
        library.close?.();
        throw error;
      }
    },
  };
}

/** For an image that passed `imageProblem` and cannot be opened all the same. */
function unreadable(cause: unknown): never {
  if (cause instanceof RlmError) throw cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  throw new RlmError("checkpoint_lost", `the checkpoint cannot be opened: ${why}`, {
    suggestion: "Go on from an earlier checkpoint.",
    cause,
  });
}

/** Sends what a guest prints: at once at first, then a few times a second, so that a flood of prints is few messages. */
function openPrintRelay(send: (parts: readonly Printed[]) => void): (part: Printed) => void {
  let sent = 0;
  let sentAt = 0;
  let held: Printed[] = [];
  return (part) => {
    held.push(part);
    const now = systemClock.monotonic();
    if (sent >= AT_ONCE && now - sentAt < EVERY_MS) return;
    if (now - sentAt > QUIET_MS) sent = 0;
    sent++;
    sentAt = now;
    send(held);
    held = [];
  };
}

const AT_ONCE = 50;
const EVERY_MS = 20;
/** After so long a silence parts are sent at once again. */
const QUIET_MS = 1000;
