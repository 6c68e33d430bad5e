import { systemClock } from "./clock.ts";
import { RlmError } from "./errors.ts";
import type { Baseline } from "./images/image.ts";
import { imageProblem } from "./images/image-compat.ts";
import { COMMAND_MS } from "./limits.ts";
import { machineLost } from "./lost.ts";
import type {
  Checkpoint,
  CheckpointRequest,
  FromThread,
  Json,
  MachineSetup,
  Restoration,
  ToThread,
} from "./protocol.ts";
import { openSlices } from "./slices.ts";
import { type Machines, processMachines } from "./threads/machines.ts";
import { openThread, type Thread } from "./threads/thread.ts";

export interface SandboxOptions<Message> {
  /** The module that calls `serveSandbox`. */
  readonly entry: URL;
  /** Bytes of the guest's own heap. */
  readonly memoryBytes: number;
  readonly onNotice?: (text: string) => void;
  /**
   * Reads the image that the guest is made from. It is called when it is this machine's turn to open, so that images of many
   * machines are not in memory together. If it rejects, so does opening.
   */
  readonly image?: () => Promise<Restoration>;
  /** The exec in the image waits for calls. Its end is then captured as what has changed since `baseline`. */
  readonly isStep?: boolean;
  /** Given to the library before the guest is made, so that texts of an image can be written back. */
  readonly message?: Message;
  /** The source of its thread. Default: the machines of the process. */
  readonly machines?: Machines;
}

/**
 * A guest in a thread of its own, supervised: if the guest does not come to rest in time, the thread is terminated. When a
 * sound guest is disposed, its thread serves the next guest.
 */
export type Sandbox<Message = unknown> = Awaited<ReturnType<typeof openSandbox<Message>>>;

/** @throws RlmError `checkpoint_lost` for an image that this build cannot read or whose texts the library lacks */
export async function openSandbox<Message>(options: SandboxOptions<Message>) {
  const { entry, onNotice, machines = processMachines() } = options;
  const { seat, baseline } = await machines.take(entry);
  const thread = openThread<Message>({ seat, clock: systemClock, notice: onNotice });
  const origin = await openGuest(thread, baseline, options).catch(async (error: unknown) => {
    await thread.release("it was not opened");
    throw error;
  });
  seat.opened();
  let spent = false;

  async function command(message: ToThread<Message>): Promise<Json> {
    thread.cancel(false);
    const reply = await accepted(thread, await thread.ask(message, COMMAND_MS));
    return reply.kind === "entered" ? reply.value : null;
  }

  return {
    /** Id of the image that the guest was opened from. A fresh guest has `baseline:` and the SHA-256 of its memory and meta. */
    origin,
    /** The image that fresh guests are opened from. */
    baseline,
    ...openSlices(thread, seat),
    /** Ends the machine and its thread. */
    end: thread.end,
    /**
     * Captures an image: between execs, or while an exec waits for calls.
     * @throws RlmError `machine_lost` if the guest is not at rest or gone; `memory_limit_exceeded` at an exec's end, if no other
     * cell could run in the guest
     */
    async checkpoint(request: CheckpointRequest): Promise<Checkpoint> {
      const reply = await accepted(thread, await thread.ask({ kind: "checkpoint", request }, COMMAND_MS, false));
      if (reply.kind !== "checkpointed") throw machineLost(`it answered ${reply.kind}`);
      spent ||= reply.checkpoint.isSpent;
      return reply.checkpoint;
    },
    /** True if a checkpoint has changed the guest: it must then be opened anew from that checkpoint. */
    isSpent: () => spent,
    /** Runs a guest command. @throws RlmError with what it threw; `machine_lost` if the guest is gone */
    enter: (name: string, payload: Json) => command({ kind: "enter", name, payload }),
    /** Sends a message to the library alone. @throws as `enter` */
    async tell(message: Message): Promise<void> {
      await command({ kind: "library", message });
    },
    /** See `Seat`: `giveUp` disposes the guest. It is called once, and not after `wake`. */
    rest: seat.rest,
    wake: seat.wake,
    [Symbol.asyncDispose]: () => thread.release("it was closed"),
  };
}

/** Makes the guest. Returns its origin. */
async function openGuest<Message>(
  thread: Thread<Message>,
  baseline: Baseline,
  { memoryBytes, message, isStep, ...options }: SandboxOptions<Message>,
): Promise<string> {
  const image = await options.image?.();
  const problem = image ? imageProblem(image.image.meta) : null;
  if (problem) throw new RlmError("checkpoint_lost", problem, { suggestion: "Open it with the build that made it." });
  const setup: MachineSetup<Message> = {
    memoryBytes,
    from: image ? { ...image, ...(isStep ? { fresh: baseline.image } : {}) } : baseline,
    ...(message === undefined ? {} : { message }),
  };
  await accepted(thread, await thread.open(setup, image ? ownBuffer(image.image.memory) : []));
  return (image?.image ?? baseline.image).id;
}

/** Returns the answer, or throws what it says went wrong. */
async function accepted({ end }: Pick<Thread<never>, "end">, reply: FromThread): Promise<FromThread> {
  if (reply.kind === "refused") {
    const { code, message, suggestion } = reply.error;
    throw new RlmError(code, message, { suggestion });
  }
  if (reply.kind !== "failed") return reply;
  await end(reply.message);
  throw machineLost(reply.message);
}

/** The buffers that can cross to the thread without a copy: the buffer of a view that shows all of it. */
function ownBuffer({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
