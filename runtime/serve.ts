import { parentPort, workerData } from "node:worker_threads";
import { type Clock, systemClock } from "./clock.ts";
import { MachineFault } from "./engine.ts";
import { RlmError } from "./errors.ts";
import type { ImageGate } from "./image.ts";
import type { Library } from "./library.ts";
import { COMMAND_MS } from "./limits.ts";
import { type Machine, openMachine, type Slice } from "./machine.ts";
import {
  type CheckpointRequest,
  type FromWorker,
  type Printed,
  type Restoration,
  SHARED,
  type TakingReply,
  type ToWorker,
} from "./protocol.ts";
import { openQuickJs } from "./quickjs-wasi.ts";

/** What `openSandbox` hands to the worker. */
export interface WorkerSetup<Setup, Message> {
  readonly wasm: WebAssembly.Module;
  readonly shared: Int32Array;
  readonly memoryBytes: number;
  readonly library: Setup;
  readonly gate: ImageGate;
  readonly restore?: Restoration;
  /** For the library, before the guest is made. */
  readonly message?: Message;
}

/** Runs a machine in this worker. Called once by the worker's entry module, which knows the library. */
export async function serveSandbox<Setup, Message>(createLibrary: (setup: Setup) => Library<Message>): Promise<void> {
  const port = parentPort;
  if (!port) throw new Error("serveSandbox runs in a worker thread");
  const setup: WorkerSetup<Setup, Message> = workerData;
  const answer = (message: FromWorker) => port.postMessage(message, transferable(message));
  const library = createLibrary(setup.library);

  async function open(): Promise<Machine> {
    if (setup.message !== undefined) library.receive(setup.message);
    const opening = openMachine({
      library,
      memoryBytes: setup.memoryBytes,
      clock: systemClock,
      shared: setup.shared,
      notice: (text) => answer({ kind: "notice", text }),
      printed: openPrintRelay(systemClock, (parts) => answer({ kind: "printed", parts })),
      openEngine: (options) => openQuickJs(setup.wasm, options),
      gate: setup.gate,
      ...(setup.restore ? { restore: setup.restore } : {}),
    });
    return setup.restore ? opening.catch(unreadable) : opening;
  }

  function run(machine: Machine, message: ToWorker<Message>): FromWorker {
    switch (message.kind) {
      case "exec":
        return sliceReply(machine, machine.exec(message.input), message.checkpoint);
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
    }
  }

  /** A guest that waits for new calls is saved at once: nobody has to ask for it before they are recorded. */
  function sliceReply(machine: Machine, slice: Slice, wanted: CheckpointRequest | null): FromWorker {
    if (slice.kind === "ended") return slice;
    const isWanted = wanted !== null && slice.calls.length > 0;
    return { ...slice, checkpoint: isWanted ? take(machine, wanted) : null };
  }

  function take(machine: Machine, request: CheckpointRequest): TakingReply {
    Atomics.store(setup.shared, SHARED.taking, 1);
    try {
      return { kind: "checkpointed", checkpoint: machine.checkpoint(request, COMMAND_MS) };
    } catch (error) {
      return failure(error);
    }
  }

  try {
    const machine = await open();
    port.on("message", (message: ToWorker<Message>) => {
      try {
        answer(run(machine, message));
      } catch (error) {
        answer(failure(error));
      }
    });
    answer({ kind: "ready", origin: machine.origin });
  } catch (error) {
    answer(failure(error));
  }
}

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
  return { kind: "failed", message: error instanceof MachineFault ? error.message : String(error) };
}

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
