import { type Clock, systemClock } from "./clock.ts";
import { isErrorCode, RlmError } from "./errors.ts";
import type { Baseline } from "./image.ts";
import { imageProblem } from "./image-compat.ts";
import { COMMAND_MS } from "./limits.ts";
import { machineLost } from "./lost.ts";
import { type MachineKind, type Machines, processMachines } from "./machines.ts";
import type { Checkpoint, CheckpointRequest, FromThread, Json, Restoration, ToThread } from "./protocol.ts";
import type { MachineSetup } from "./serve.ts";
import { openSlices, type Slices } from "./slices.ts";
import { openThread } from "./thread.ts";

export interface SandboxOptions<Setup, Message> extends MachineKind<Setup> {
  /** Bytes of the guest's own heap. */
  readonly memoryBytes: number;
  readonly onNotice?: (text: string) => void;
  readonly clock?: Clock;
  /**
   * Makes the guest from an image, which is read when it is this machine's turn to be opened: images of many machines
   * are not in memory together. Opening rejects with what it rejects with.
   */
  readonly image?: () => Promise<Restoration>;
  /** Given to the library before the guest is made, so that texts of an image can be written back. */
  readonly message?: Message;
  /** Where its thread comes from; default: those of the process. */
  readonly machines?: Machines;
}

/**
 * A guest in a thread of its own, supervised: what does not come to rest in time is terminated. Disposed, a sound one
 * leaves its thread to the next guest.
 */
export interface Sandbox<Message = unknown> extends Slices, AsyncDisposable {
  /** Id of the image that the guest was opened from; of a fresh guest `baseline:` and the SHA-256 of its memory and meta. */
  readonly origin: string;
  /** The image that fresh guests are opened from. */
  readonly baseline: Baseline;
  /** Ends the machine and its thread. */
  end(why: string): Promise<void>;
  /**
   * Takes an image: between execs, or while an exec waits for calls.
   * @throws RlmError `machine_lost` where the guest is not at rest or gone; of an exec's end `memory_limit_exceeded` where no other
   * cell could run in it
   */
  checkpoint(request: CheckpointRequest): Promise<Checkpoint>;
  /** A checkpoint has used the guest up: it must be opened anew from that one. */
  isSpent(): boolean;
  /** Runs a guest command. @throws RlmError with what it threw; `machine_lost` where the guest is gone */
  enter(name: string, payload: Json): Promise<Json>;
  /** A message for the library alone. @throws as `enter` */
  tell(message: Message): Promise<void>;
  /**
   * Nobody uses the guest. `giveUp`, which disposes it, is called once: after `ms`, or earlier if another guest needs the
   * thread. Not after `wake`.
   */
  rest(giveUp: () => Promise<void>, ms: number): void;
  /** The guest is used again. */
  wake(): void;
}

/** @throws RlmError `checkpoint_lost` for an image that this build cannot read or whose texts the library has not */
export async function openSandbox<Setup, Message>(options: SandboxOptions<Setup, Message>): Promise<Sandbox<Message>> {
  const { message, memoryBytes, clock = systemClock, machines = processMachines() } = options;
  const { seat, baseline } = await machines.take(options);
  const thread = openThread<Message>({ seat, clock, notice: options.onNotice });

  /** The answer, or what it says went wrong. */
  async function accepted(reply: FromThread): Promise<FromThread> {
    if (reply.kind === "refused") {
      const { code, suggestion } = reply.error;
      throw new RlmError(isErrorCode(code) ? code : "js_error", reply.error.message, { suggestion });
    }
    if (reply.kind !== "failed") return reply;
    await thread.end(reply.message);
    throw machineLost(reply.message);
  }

  let spent = false;
  async function taken(reply: FromThread): Promise<Checkpoint> {
    const answer = await accepted(reply);
    if (answer.kind === "checkpointed") {
      spent ||= answer.checkpoint.isSpent;
      return answer.checkpoint;
    }
    throw machineLost(`it answered ${answer.kind}`);
  }

  async function command(message: ToThread<Message>): Promise<FromThread> {
    thread.cancel(false);
    return accepted(await thread.ask(message, COMMAND_MS));
  }

  async function open(): Promise<FromThread> {
    const image = await options.image?.();
    const problem = image ? await imageProblem(image.image.meta) : null;
    if (problem) throw new RlmError("checkpoint_lost", problem, { suggestion: "Open it with the build that made it." });
    const setup: MachineSetup<Message> = {
      memoryBytes,
      from: image ?? baseline,
      ...(message === undefined ? {} : { message }),
    };
    return accepted(await thread.open(setup, image ? ownBuffer(image.image.memory) : []));
  }

  const opened = await open().catch(async (error: unknown) => {
    await thread.release("it was not opened");
    throw error;
  });
  seat.opened();

  return {
    origin: opened.kind === "ready" ? opened.origin : "",
    baseline,
    ...openSlices(thread, seat),
    end: (why) => thread.end(why),
    async checkpoint(request) {
      return taken(await thread.ask({ kind: "checkpoint", request, maxMs: COMMAND_MS }, COMMAND_MS, "not"));
    },
    isSpent: () => spent,
    async enter(name, payload) {
      const reply = await command({ kind: "enter", name, payload, maxMs: COMMAND_MS });
      return reply.kind === "entered" ? reply.value : null;
    },
    async tell(message) {
      await command({ kind: "library", message, maxMs: COMMAND_MS });
    },
    rest: seat.rest,
    wake: seat.wake,
    async [Symbol.asyncDispose]() {
      await thread.release("it was closed");
    },
  };
}

/** What can cross to the worker without a copy: the buffer of a view that shows all of it. */
function ownBuffer({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
