import { MachineFault } from "./engine.ts";
import { RlmError } from "./errors.ts";
import type { Library } from "./library.ts";
import { COMMAND_MS } from "./limits.ts";
import type { Machine } from "./machine.ts";
import {
  type CaptureReply,
  type CheckpointRequest,
  type FromThread,
  SHARED,
  type SliceEnd,
  type ToThread,
} from "./protocol.ts";

/** The machine that a thread serves at the moment, and its library. */
export interface Served<Message> {
  readonly machine: Machine;
  readonly library: Library<Message>;
}

/** Does what a message asks of the machine, and returns the answer. */
export function serveMessage<Message>(
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
export function failure(error: unknown): Exclude<CaptureReply, { kind: "checkpointed" }> {
  if (error instanceof RlmError) {
    const { guestName: name, code, suggestion } = error;
    return { kind: "refused", error: { name, code, message: error.message, suggestion } };
  }
  return { kind: "failed", message: messageOf(error) };
}

export const messageOf = (error: unknown) => (error instanceof MachineFault ? error.message : String(error));
