import { systemClock } from "./clock.ts";
import { isErrorCode, RlmError } from "./errors.ts";
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
import { openSlices, type Slices } from "./slices.ts";
import { type Machines, processMachines } from "./threads/machines.ts";
import { openThread } from "./threads/thread.ts";

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
export interface Sandbox<Message = unknown> extends Slices, AsyncDisposable {
  /** Id of the image that the guest was opened from. A fresh guest has `baseline:` and the SHA-256 of its memory and meta. */
  readonly origin: string;
  /** The image that fresh guests are opened from. */
  readonly baseline: Baseline;
  /** Ends the machine and its thread. */
  end(why: string): Promise<void>;
  /**
   * Captures an image: between execs, or while an exec waits for calls.
   * @throws RlmError `machine_lost` if the guest is not at rest or gone; `memory_limit_exceeded` at an exec's end, if no other
   * cell could run in the guest
   */
  checkpoint(request: CheckpointRequest): Promise<Checkpoint>;
  /** True if a checkpoint has changed the guest: it must then be opened anew from that checkpoint. */
  isSpent(): boolean;
  /** Runs a guest command. @throws RlmError with what it threw; `machine_lost` if the guest is gone */
  enter(name: string, payload: Json): Promise<Json>;
  /** Sends a message to the library alone. @throws as `enter` */
  tell(message: Message): Promise<void>;
  /**
   * The guest is not in use. `giveUp`, which disposes it, is called once: after `ms`, or earlier if another guest needs the
   * thread. It is not called after `wake`.
   */
  rest(giveUp: () => Promise<void>, ms: number): void;
  /** The guest is used again. */
  wake(): void;
}

/** @throws RlmError `checkpoint_lost` for an image that this build cannot read or whose texts the library lacks */
export async function openSandbox<Message>(options: SandboxOptions<Message>): Promise<Sandbox<Message>> {
  const { message, memoryBytes, machines = processMachines() } = options;
  const { seat, baseline } = await machines.take(options.entry);
  const thread = openThread<Message>({ seat, clock: systemClock, notice: options.onNotice });

  /** Returns the answer, or throws what it says went wrong. */
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
  async function captured(reply: FromThread): Promise<Checkpoint> {
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
    const problem = image ? imageProblem(image.image.meta) : null;
    if (problem) throw new RlmError("checkpoint_lost", problem, { suggestion: "Open it with the build that made it." });
    const setup: MachineSetup<Message> = {
      memoryBytes,
      from: image ? { ...image, ...(options.isStep ? { fresh: baseline.image } : {}) } : baseline,
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
      return captured(await thread.ask({ kind: "checkpoint", request, maxMs: COMMAND_MS }, COMMAND_MS, false));
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

/** The buffers that can cross to the thread without a copy: the buffer of a view that shows all of it. */
function ownBuffer({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
