import { parentPort } from "node:worker_threads";
import { channelOfPort, serveCaller } from "../caller.ts";
import { systemClock } from "../clock.ts";
import { MachineFault } from "../engine.ts";
import { RlmError } from "../errors.ts";
import { type Baseline, buffersOf } from "../images/image.ts";
import type { Library } from "../library.ts";
import { LIMITS } from "../limits.ts";
import { type Machine, openMachine } from "../machine.ts";
import {
  type Capture,
  type Checkpoint,
  type CheckpointRequest,
  type FromThread,
  type MachineSetup,
  type Printed,
  type Restoration,
  SHARED,
  type SliceEnd,
  type SliceImage,
  type ThreadNote,
  type ThreadSetup,
  type ToThread,
} from "../protocol.ts";
import { openQuickJs } from "../quickjs/quickjs.ts";
import { openWasmPool } from "../quickjs/wasm-pool.ts";

/** The machine that a thread serves at the moment, and its library. */
interface Served<Message> {
  readonly machine: Machine;
  readonly library: Library<Message>;
}

/** Makes the machines of a thread. */
interface Workshop<Message> {
  /** Makes the image of a fresh guest. */
  baseline(): Promise<Baseline>;
  /**
   * Opens a machine from an image.
   *
   * @throws RlmError `checkpoint_lost` if the image cannot be opened
   */
  open(setup: MachineSetup<Message>): Promise<Served<Message>>;
}

/** Serves machines in this thread, one after the other. The thread's entry module calls it once. */
export function serveSandbox<Message>(createLibrary: () => Library<Message>): void {
  let begun: { readonly setup: ThreadSetup; readonly workshop: Workshop<Message> } | undefined;
  let served: Served<Message> | undefined;

  async function answerTo(message: ToThread<Message>): Promise<FromThread> {
    if (message.kind === "begin") {
      const { setup } = message;
      begun = { setup, workshop: openWorkshop(setup, createLibrary, tell) };
      return { kind: "ready", baseline: setup.prelude === null ? await begun.workshop.baseline() : null };
    }
    if (!begun) throw new MachineFault("the thread has not begun");
    if (message.kind === "open") {
      served = await begun.workshop.open(message.setup);
      noteSize(served, begun.setup.shared);
      return { kind: "opened" };
    }
    if (message.kind === "close") {
      served?.machine[Symbol.dispose]();
      served?.library.close?.();
      served = undefined;
      return { kind: "closed" };
    }
    if (!served) throw new MachineFault("no machine is open");
    const answer = serveMessage(served, message, begun.setup.shared);
    noteSize(served, begun.setup.shared);
    return answer;
  }

  const tell = serveCaller<ToThread<Message>, FromThread, never, ThreadNote>(channelOfPort(parentPort), {
    answer: (message) => answerTo(message).catch(rethrow),
    transfer: transferable,
  });
}

/**
 * If a machine has more linear memory than this its thread is ended, since a thread may keep
 * dropped memory for long.
 */
const REUSED_BYTES = 16 * 2 ** 20;

/** Linear memory never becomes less. */
function noteSize({ machine }: Pick<Served<never>, "machine">, shared: Int32Array): void {
  if (machine.linearBytes() > REUSED_BYTES) Atomics.store(shared, SHARED.isLarge, 1);
}

/** Does what a message asks of the machine, and returns the answer. */
function serveMessage<Message>(
  { machine, library }: Served<Message>,
  message: Exclude<ToThread<Message>, { kind: "begin" | "open" | "close" }>,
  shared: Int32Array,
): FromThread {
  /**
   * If the guest waits for new calls or has ended, its image is captured at once: the host needs it
   * before it records them.
   */
  function reply(slice: SliceEnd, wanted: SliceImage | null = null): FromThread {
    const request = wantedOf(slice, wanted);
    if (!request) return { ...slice, checkpoint: null };
    Atomics.store(shared, SHARED.capturing, 1);
    try {
      return { ...slice, checkpoint: { kind: "checkpointed", checkpoint: machine.checkpoint(request) } };
    } catch (error) {
      return { ...slice, checkpoint: notCaptured(error) };
    }
  }

  switch (message.kind) {
    case "start":
      return reply(machine.startCell(message.input), message.checkpoint);
    case "resume":
      return reply(machine.resume(message.input));
    case "settle":
      return reply(machine.settle(message.answers, message.facts), message.checkpoint);
    case "stop":
      return reply(machine.stop());
    case "checkpoint":
      return { kind: "checkpointed", checkpoint: machine.checkpoint(message.request) };
    case "enter":
      return { kind: "entered", value: machine.enter(message.name, message.payload) };
    case "library": {
      const next = library.receive(message.message);
      return { kind: "entered", value: next ? machine.enter(next.command, null) : null };
    }
  }
}

function wantedOf(slice: SliceEnd, wanted: SliceImage | null): CheckpointRequest | null | undefined {
  if (slice.kind === "ended") return slice.clean ? wanted?.atEnd : null;
  return slice.calls.length > 0 && !wanted?.isLate ? wanted : null;
}

function notCaptured(error: unknown): Capture {
  return error instanceof RlmError ? { kind: "refused" } : { kind: "failed", message: faultOf(error).message };
}

/** The host takes all but an RlmError for a fault of the machine. */
function rethrow(error: unknown): never {
  throw error instanceof RlmError ? error : faultOf(error);
}

const faultOf = (error: unknown) => (error instanceof MachineFault ? error : new MachineFault(String(error)));

/** The pages of a checkpoint cross without a copy. */
function transferable(answer: FromThread): ArrayBuffer[] {
  const capture = answer.kind === "idle" || answer.kind === "ended" ? answer.checkpoint : answer;
  return capture?.kind === "checkpointed" ? pagesOf(capture.checkpoint) : [];
}

function pagesOf({ delta }: Checkpoint): ArrayBuffer[] {
  return delta.pages.flatMap(buffersOf).filter((buffer) => buffer instanceof ArrayBuffer);
}

/** @param tell is called with what machines tell the host */
function openWorkshop<Message>(
  { wasm, format, shared, prelude }: ThreadSetup,
  createLibrary: () => Library<Message>,
  tell: (note: ThreadNote) => void,
): Workshop<Message> {
  const pool = openWasmPool(wasm);
  const machineOf = (library: Library<Message>, memoryBytes: number, restore?: Restoration) =>
    openMachine({
      library,
      memoryBytes,
      clock: systemClock,
      shared,
      format,
      prelude,
      notice: (text) => tell({ kind: "notice", text }),
      printed: openPrintRelay((parts) => tell({ kind: "printed", parts })),
      openEngine: (options) => openQuickJs(pool, options),
      ...(restore ? { restore } : {}),
    });

  return {
    async baseline() {
      using machine = await machineOf(createLibrary(), LIMITS.guestHeapBytes);
      return machine.baseline();
    },
    async open({ from, memoryBytes, message }) {
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

/**
 * Sends what a guest prints: at once at first, then a few times a second, so that a flood of prints
 * is few messages.
 */
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
