import { once } from "node:events";
import { parentPort } from "node:worker_threads";
import { MachineFault } from "../engine.ts";
import { RlmError } from "../errors.ts";
import { buffersOf } from "../images/image.ts";
import type { Library } from "../library.ts";
import {
  type CaptureReply,
  type CheckpointRequest,
  type FromThread,
  SHARED,
  type SliceEnd,
  type ToThread,
} from "../protocol.ts";
import type { ThreadSetup, ThreadStart } from "./machine-thread.ts";
import { openWorkshop, type Served } from "./served.ts";

/** Serves machines in this thread, one after the other. The thread's entry module calls it once. */
export async function serveSandbox<Message>(createLibrary: () => Library<Message>): Promise<void> {
  const port = parentPort;
  if (!port) throw new Error("serveSandbox runs in a worker thread");
  const thread: ThreadSetup = (await once(port, "message"))[0];
  const say = (message: FromThread) => port.postMessage(message, transferable(message));
  const workshop = openWorkshop(thread, createLibrary, say);
  let served: Served<Message> | undefined;

  async function answerTo(message: ToThread<Message>): Promise<FromThread> {
    if (message.kind === "open") {
      served = await workshop.open(message.setup);
      return { kind: "ready" };
    }
    if (message.kind === "close") {
      const bytes = served?.machine.linearBytes() ?? 0;
      served?.machine[Symbol.dispose]();
      served?.library.close?.();
      served = undefined;
      return { kind: "closed", isSmall: bytes <= REUSED_BYTES };
    }
    if (!served) return { kind: "failed", message: "no machine is open" };
    return serveMessage(served, message, thread.shared);
  }

  const start = (message: ThreadStart) => port.postMessage(message);
  try {
    const baseline = thread.makesBaseline ? await workshop.baseline() : null;
    const failed = (error: unknown) => say(failure(error));
    port.on("message", (message) => void answerTo(message).then(say).catch(failed));
    start({ kind: "up", baseline });
  } catch (error) {
    start({ kind: "failed", message: messageOf(error) });
  }
}

/** If a machine has more linear memory than this its thread is ended, since a thread may keep dropped memory for long. */
const REUSED_BYTES = 16 * 2 ** 20;

/** Does what a message asks of the machine, and returns the answer. */
function serveMessage<Message>(
  { machine, library }: Served<Message>,
  message: Exclude<ToThread<Message>, { kind: "open" | "close" }>,
  shared: Int32Array,
): FromThread {
  /** If the guest waits for new calls, its image is captured at once: the host needs it before it records them. */
  function reply(slice: SliceEnd, wanted: CheckpointRequest | null = null): FromThread {
    if (slice.kind === "ended") return slice;
    if (wanted === null || slice.calls.length === 0) return { ...slice, checkpoint: null };
    Atomics.store(shared, SHARED.capturing, 1);
    try {
      return { ...slice, checkpoint: { kind: "checkpointed", checkpoint: machine.checkpoint(wanted) } };
    } catch (error) {
      return { ...slice, checkpoint: failure(error) };
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

/** The answer to a message that failed. After `failed` the machine is poisoned. */
function failure(error: unknown): Exclude<CaptureReply, { kind: "checkpointed" }> {
  if (error instanceof RlmError) {
    const { code, message, suggestion } = error;
    return { kind: "refused", error: { code, message, suggestion } };
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
