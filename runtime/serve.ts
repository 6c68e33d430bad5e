import { parentPort, workerData } from "node:worker_threads";
import { type Clock, systemClock } from "./clock.ts";
import { MachineFault } from "./engine.ts";
import { RlmError } from "./errors.ts";
import type { Baseline } from "./image.ts";
import type { Library } from "./library.ts";
import { COMMAND_MS, LIMITS } from "./limits.ts";
import { type Machine, openMachine } from "./machine.ts";
import type { ThreadSetup, ThreadStart } from "./machine-thread.ts";
import {
  type CheckpointRequest,
  type FromWorker,
  type Printed,
  type Restoration,
  SHARED,
  type SliceEnd,
  type TakingReply,
  type ToWorker,
} from "./protocol.ts";
import { openQuickJs } from "./quickjs-wasi.ts";

/** What a machine is opened from. */
export interface MachineSetup<Message> {
  readonly memoryBytes: number;
  /** Of an exec that was kept; else the fresh guest. */
  readonly from: Restoration | Baseline;
  /** For the library, before the guest is made. */
  readonly message?: Message;
}

type Request<Message> = ToWorker<Message> | { readonly kind: "open"; readonly setup: MachineSetup<Message> };

/** The machine that the worker serves at the moment. */
interface Served<Message> {
  readonly machine: Machine;
  readonly library: Library<Message>;
}

/** Serves machines in this worker, one after the other. Called once by the worker's entry module, which knows the library. */
export async function serveSandbox<Setup, Message>(createLibrary: (setup: Setup) => Library<Message>): Promise<void> {
  const port = parentPort;
  if (!port) throw new Error("serveSandbox runs in a worker thread");
  const thread: ThreadSetup<Setup> = workerData;
  const answer = (message: FromWorker) => port.postMessage(message, transferable(message));
  let served: Served<Message> | undefined;

  const machineOf = (library: Library<Message>, memoryBytes: number, restore?: Restoration): Promise<Machine> =>
    openMachine({
      library,
      memoryBytes,
      clock: systemClock,
      shared: thread.shared,
      notice: (text) => answer({ kind: "notice", text }),
      printed: openPrintRelay(systemClock, (parts) => answer({ kind: "printed", parts })),
      openEngine: (options) => openQuickJs(thread.wasm, options),
      format: thread.format,
      ...(restore ? { restore } : {}),
    });

  async function baseline(): Promise<Baseline> {
    using machine = await machineOf(createLibrary(thread.library), LIMITS.guestHeapBytes);
    return machine.baseline();
  }

  async function open({ from, memoryBytes, message }: MachineSetup<Message>): Promise<FromWorker> {
    const library = createLibrary(thread.library);
    try {
      if (message !== undefined) library.receive(message);
      const opening = machineOf(library, memoryBytes, "pages" in from ? freshFrom(from) : from);
      const machine = await ("pages" in from ? opening : opening.catch(unreadable));
      served = { machine, library };
      return { kind: "ready", origin: machine.origin };
    } catch (error) {
      library.close?.();
      throw error;
    }
  }

  function close(): FromWorker {
    const bytes = served?.machine.linearBytes() ?? 0;
    served?.machine[Symbol.dispose]();
    served?.library.close?.();
    served = undefined;
    return { kind: "closed", isSmall: bytes <= REUSED_BYTES };
  }

  function run({ machine, library }: Served<Message>, message: ToWorker<Message>): FromWorker {
    switch (message.kind) {
      case "start":
        return sliceReply(machine, machine.startCell(message.input), message.checkpoint);
      case "resume":
        return sliceReply(machine, machine.resume(message.input), null);
      case "settle":
        return sliceReply(machine, machine.settle(message.answers, message.facts), message.checkpoint);
      case "stop":
        return sliceReply(machine, machine.stop(), null);
      case "checkpoint":
        return { kind: "checkpointed", checkpoint: machine.checkpoint(message.request, message.maxMs) };
      case "enter":
        return { kind: "entered", value: machine.enter(message.name, message.payload, message.maxMs) };
      case "library": {
        const next = library.receive(message.message);
        return { kind: "entered", value: next ? machine.enter(next.command, null, message.maxMs) : null };
      }
      case "close":
        return close();
    }
  }

  /** A guest that waits for new calls is saved at once: nobody has to ask for it before they are recorded. */
  function sliceReply(machine: Machine, slice: SliceEnd, wanted: CheckpointRequest | null): FromWorker {
    if (slice.kind === "ended") return slice;
    const isWanted = wanted !== null && slice.calls.length > 0;
    return { ...slice, checkpoint: isWanted ? take(machine, wanted) : null };
  }

  function take(machine: Machine, request: CheckpointRequest): TakingReply {
    Atomics.store(thread.shared, SHARED.taking, 1);
    try {
      return { kind: "checkpointed", checkpoint: machine.checkpoint(request, COMMAND_MS) };
    } catch (error) {
      return failure(error);
    }
  }

  async function perform(message: Request<Message>): Promise<void> {
    try {
      if (message.kind === "open") answer(await open(message.setup));
      else if (served) answer(run(served, message));
      else answer(message.kind === "close" ? close() : { kind: "failed", message: "no machine is open" });
    } catch (error) {
      answer(failure(error));
    }
  }

  const start = (message: ThreadStart) => port.postMessage(message);
  try {
    const made = thread.makesBaseline ? await baseline() : null;
    port.on("message", perform);
    start({ kind: "up", baseline: made });
  } catch (error) {
    start({ kind: "failed", message: messageOf(error) });
  }
}

/**
 * A machine with more linear memory than this takes its worker with it: when the memory of an instance that was dropped
 * is given back is up to the collector.
 */
const REUSED_BYTES = 16 * 2 ** 20;

const freshFrom = ({ image }: Baseline): Restoration => ({ image, pending: "keep", cells: [] });

/** An image that this build should be able to read. */
function unreadable(cause: unknown): never {
  if (cause instanceof RlmError) throw cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  throw new RlmError("checkpoint_lost", `the checkpoint cannot be opened: ${why}`, {
    suggestion: "Go on from an earlier checkpoint.",
    cause,
  });
}

function failure(error: unknown): Exclude<TakingReply, { kind: "checkpointed" }> {
  if (error instanceof RlmError) {
    const { guestName: name, code, suggestion } = error;
    return { kind: "refused", error: { name, code, message: error.message, suggestion } };
  }
  return { kind: "failed", message: messageOf(error) };
}

const messageOf = (error: unknown) => (error instanceof MachineFault ? error.message : String(error));

/** The pages of a checkpoint cross without a copy. */
function transferable(message: FromWorker): ArrayBuffer[] {
  if (message.kind === "idle" && message.checkpoint) return transferable(message.checkpoint);
  if (message.kind !== "checkpointed") return [];
  const buffers = message.checkpoint.delta.pages.flatMap(({ numbers, changes }) => [numbers.buffer, changes.buffer]);
  return buffers.filter((buffer) => buffer instanceof ArrayBuffer);
}

/** At once at first, then a few times a second: a flood of prints is no flood of messages. */
function openPrintRelay(clock: Clock, send: (parts: readonly Printed[]) => void): (part: Printed) => void {
  const AT_ONCE = 50;
  const EVERY_MS = 20;
  let sent = 0;
  let sentAt = 0;
  let held: Printed[] = [];
  return (part) => {
    held.push(part);
    const now = clock.monotonic();
    if (sent >= AT_ONCE && now - sentAt < EVERY_MS) return;
    if (now - sentAt > 1000) sent = 0;
    sent++;
    sentAt = now;
    send(held);
    held = [];
  };
}
