import { systemClock } from "./clock.ts";
import { faultOf, machineLost } from "./ends.ts";
import { RlmError } from "./errors.ts";
import type { Baseline } from "./images/image.ts";
import { imageProblem } from "./images/image-compat.ts";
import { COMMAND_MS } from "./limits.ts";
import type {
  Checkpoint,
  CheckpointRequest,
  FromThread,
  Json,
  MachineSetup,
  Restoration,
  ToThread,
} from "./protocol.ts";
import { type Machines, processMachines } from "./threads/machines.ts";
import type { Seat } from "./threads/pool.ts";
import { openSlices, openThread, type Slice, type Slices, type Thread } from "./threads/thread.ts";

interface SandboxOptions<Message> {
  /** The module that calls `serveSandbox`. */
  readonly entry: URL;
  /** Bytes of the guest's own heap. */
  readonly memoryBytes: number;
  readonly onNotice?: (text: string) => void;
  /**
   * Reads the image that the guest is made from. It is called when it is this machine's turn to
   * open, so that images of many machines are not in memory together. If it rejects, so does
   * opening.
   */
  readonly image?: () => Promise<Restoration>;
  /**
   * The exec in the image waits for calls. Its end is then captured as what has changed since
   * `baseline`.
   */
  readonly isStep?: boolean;
  /**
   * Given to the library before the guest is made, so that texts of an image can be written back.
   */
  readonly message?: Message;
  /** The source of its thread. Default: the machines of the process. */
  readonly machines?: Machines;
}

/**
 * A guest in a thread of its own, supervised: if the guest does not come to rest in time, the
 * thread is terminated. When a sound guest is disposed, its thread serves the next guest.
 */
export interface Sandbox<Message = unknown> extends Slices, Pick<Seat<unknown>, "rest" | "wake">, AsyncDisposable {
  /**
   * Id of the image that the guest was opened from. A fresh guest has `baseline:` and the SHA-256
   * of its memory and meta.
   */
  readonly origin: string;
  /** The image that fresh guests are opened from. */
  readonly baseline: Baseline;
  /** Ends the machine and its thread. */
  end(why: string): Promise<void>;
  /**
   * Captures an image: between execs, or while an exec waits for calls.
   * @throws RlmError `machine_lost` if the guest is not at rest or gone; `memory_limit_exceeded` at
   * an exec's end, if no other cell could run in the guest
   */
  checkpoint(request: CheckpointRequest): Promise<Checkpoint>;
  /**
   * True if a checkpoint has changed the guest: it must then be opened anew from that checkpoint.
   */
  isSpent(): boolean;
  /**
   * Runs a guest command.
   *
   * @throws RlmError with what it threw; `machine_lost` if the guest is gone
   */
  enter(name: string, payload: Json): Promise<Json>;
  /** Sends a message to the library alone. @throws as `enter` */
  tell(message: Message): Promise<void>;
}

/**
 * @throws RlmError `checkpoint_lost` for an image that this build cannot read or whose texts the
 * library lacks
 */
export async function openSandbox<Message>(options: SandboxOptions<Message>): Promise<Sandbox<Message>> {
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
    const reply = await accepted(thread, thread.ask(message, COMMAND_MS));
    return reply.kind === "entered" ? reply.value : null;
  }

  const slices = openSlices(thread, seat);

  /** Takes note of what the image of an exec's end says of the guest. */
  async function noted(slice: Promise<Slice>): Promise<Slice> {
    const known = await slice;
    if (known.kind === "over") spent ||= known.image?.isSpent ?? false;
    return known;
  }

  return {
    origin,
    baseline,
    ...slices,
    start: (...given) => noted(slices.start(...given)),
    settle: (...given) => noted(slices.settle(...given)),
    end: thread.end,
    async checkpoint(request) {
      const reply = await accepted(thread, thread.ask({ kind: "checkpoint", request }, COMMAND_MS, false));
      if (reply.kind !== "checkpointed") throw machineLost(`it answered ${reply.kind}`);
      spent ||= reply.checkpoint.isSpent;
      return reply.checkpoint;
    },
    isSpent: () => spent,
    enter: (name, payload) => command({ kind: "enter", name, payload }),
    async tell(message) {
      await command({ kind: "library", message });
    },
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
  await accepted(thread, thread.open(setup, image ? ownBuffer(image.image.memory) : []));
  return (image?.image ?? baseline.image).id;
}

/**
 * The answer, unless it is refused. If it failed the machine is ended.
 *
 * @throws RlmError with what was refused; `machine_lost`
 */
async function accepted({ end }: Pick<Thread<never>, "end">, answer: Promise<FromThread>): Promise<FromThread> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RlmError) throw error;
    const why = faultOf(error);
    await end(why);
    throw machineLost(why);
  }
}

/**
 * The buffers that can cross to the thread without a copy: the buffer of a view that shows all of
 * it.
 */
function ownBuffer({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
