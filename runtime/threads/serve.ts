import { once } from "node:events";
import { parentPort } from "node:worker_threads";
import { MachineFault } from "../engine.ts";
import { RlmError } from "../errors.ts";
import { buffersOf } from "../images/image.ts";
import type { Library } from "../library.ts";
import { COMMAND_MS } from "../limits.ts";
import type { Machine } from "../machine.ts";
import {
  type CaptureReply,
  type CheckpointRequest,
  type FromThread,
  SHARED,
  type SliceEnd,
  type ToThread,
} from "../protocol.ts";
import type { ThreadSetup, ThreadStart } from "./machine-thread.ts";
import { closeServed, type MachineSetup, makeBaseline, openServed, type Served } from "./served.ts";

type Request<Message> = ToThread<Message> | { readonly kind: "open"; readonly setup: MachineSetup<Message> };

/** Serves machines in this thread, one after the other. The thread's entry module calls it once. */
export async function serveSandbox<Setup, Message>(createLibrary: (setup: Setup) => Library<Message>): Promise<void> {
  const port = parentPort;
  if (!port) throw new Error("serveSandbox runs in a worker thread");
  const thread: ThreadSetup<Setup> = (await once(port, "message"))[0];
  const say = (message: FromThread) => port.postMessage(message, transferable(message));
  const workshop = { thread, createLibrary, say };
  let served: Served<Message> | undefined;

  async function open(setup: MachineSetup<Message>): Promise<FromThread> {
    served = await openServed(workshop, setup);
    return { kind: "ready", origin: served.machine.origin };
  }

  function close(): FromThread {
    const closed = closeServed(served);
    served = undefined;
    return closed;
  }

  async function perform(message: Request<Message>): Promise<void> {
    try {
      if (message.kind === "open") say(await open(message.setup));
      else if (message.kind === "close") say(close());
      else if (served) say(serveMessage(served, message, thread.shared));
      else say({ kind: "failed", message: "no machine is open" });
    } catch (error) {
      say(failure(error));
    }
  }

  const start = (message: ThreadStart) => port.postMessage(message);
  try {
    const baseline = thread.makesBaseline ? await makeBaseline(workshop) : null;
    port.on("message", perform);
    start({ kind: "up", baseline });
  } catch (error) {
    start({ kind: "failed", message: messageOf(error) });
  }
}

/** Does what a message asks of the machine, and returns the answer. */
function serveMessage<Message>(
  { machine, library }: Served<Message>,
  message: Exclude<ToThread<Message>, { kind: "close" }>,
  shared: Int32Array,
): FromThread {
  const reply = (slice: SliceEnd, image: CheckpointRequest | null = null) => sliceReply(machine, slice, image, shared);
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
      return { kind: "checkpointed", checkpoint: machine.checkpoint(message.request, message.maxMs) };
    case "enter":
      return { kind: "entered", value: machine.enter(message.name, message.payload, message.maxMs) };
    case "library": {
      const next = library.receive(message.message);
      return { kind: "entered", value: next ? machine.enter(next.command, null, message.maxMs) : null };
    }
  }
}

/** If the guest waits for new calls, its image is captured at once: the host needs it before it records them. */
function sliceReply(
  machine: Machine,
  slice: SliceEnd,
  wanted: CheckpointRequest | null,
  shared: Int32Array,
): FromThread {
  if (slice.kind === "ended") return slice;
  const isWanted = wanted !== null && slice.calls.length > 0;
  return { ...slice, checkpoint: isWanted ? capture(machine, wanted, shared) : null };
}

function capture(machine: Machine, request: CheckpointRequest, shared: Int32Array): CaptureReply {
  Atomics.store(shared, SHARED.capturing, 1);
  try {
    return { kind: "checkpointed", checkpoint: machine.checkpoint(request, COMMAND_MS) };
  } catch (error) {
    return failure(error);
  }
}

/** The answer to a message that failed. After `failed` the machine is poisoned. */
function failure(error: unknown): Exclude<CaptureReply, { kind: "checkpointed" }> {
  if (error instanceof RlmError) {
    const { guestName: name, code, suggestion } = error;
    return { kind: "refused", error: { name, code, message: error.message, suggestion } };
  }
  return { kind: "failed", message: messageOf(error) };
}

const messageOf = (error: unknown) => (error instanceof MachineFault ? error.message : String(error));

/** The pages of a checkpoint cross without a copy. */
function transferable(message: FromThread): ArrayBuffer[] {
  if (message.kind === "idle" && message.checkpoint) return transferable(message.checkpoint);
  if (message.kind !== "checkpointed") return [];
  const buffers = message.checkpoint.delta.pages.flatMap(buffersOf);
  return buffers.filter((buffer) => buffer instanceof ArrayBuffer);
}
