import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "./clock.ts";
import { RlmError } from "./errors.ts";
import type { Baseline } from "./image.ts";
import type { Library } from "./library.ts";
import { LIMITS } from "./limits.ts";
import { type Machine, openMachine } from "./machine.ts";
import type { ThreadSetup, ThreadStart } from "./machine-thread.ts";
import { openPrintRelay } from "./print-relay.ts";
import type { FromThread, Restoration, ToThread } from "./protocol.ts";
import { openQuickJs } from "./quickjs-wasi.ts";
import { failure, messageOf, type Served, serveMessage } from "./serve-message.ts";

/** What a machine is opened from. */
export interface MachineSetup<Message> {
  readonly memoryBytes: number;
  /** The image of an exec's end or of a waiting exec; or that of a fresh guest. */
  readonly from: Restoration | Baseline;
  /** For the library, before the guest is made. */
  readonly message?: Message;
}

type Request<Message> = ToThread<Message> | { readonly kind: "open"; readonly setup: MachineSetup<Message> };

/** What the machines of a thread are made with. */
interface Workshop<Setup, Message> {
  readonly thread: ThreadSetup<Setup>;
  readonly createLibrary: (setup: Setup) => Library<Message>;
  readonly say: (message: FromThread) => void;
}

/** Serves machines in this thread, one after the other. The thread's entry module calls it once. */
export async function serveSandbox<Setup, Message>(createLibrary: (setup: Setup) => Library<Message>): Promise<void> {
  const port = parentPort;
  if (!port) throw new Error("serveSandbox runs in a worker thread");
  const thread: ThreadSetup<Setup> = workerData;
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

async function makeBaseline<Setup, Message>(workshop: Workshop<Setup, Message>): Promise<Baseline> {
  const library = workshop.createLibrary(workshop.thread.library);
  using machine = await machineOf(workshop, library, LIMITS.guestHeapBytes);
  return machine.baseline();
}

async function openServed<Setup, Message>(
  workshop: Workshop<Setup, Message>,
  { from, memoryBytes, message }: MachineSetup<Message>,
): Promise<Served<Message>> {
  const library = workshop.createLibrary(workshop.thread.library);
  try {
    if (message !== undefined) library.receive(message);
    const machine =
      "pages" in from
        ? await machineOf(workshop, library, memoryBytes, freshFrom(from))
        : await machineOf(workshop, library, memoryBytes, from).catch(unreadable);
    return { machine, library };
  } catch (error) {
    library.close?.();
    throw error;
  }
}

function machineOf<Setup, Message>(
  { thread, say }: Workshop<Setup, Message>,
  library: Library<Message>,
  memoryBytes: number,
  restore?: Restoration,
): Promise<Machine> {
  return openMachine({
    library,
    memoryBytes,
    clock: systemClock,
    shared: thread.shared,
    notice: (text) => say({ kind: "notice", text }),
    printed: openPrintRelay(systemClock, (parts) => say({ kind: "printed", parts })),
    openEngine: (options) => openQuickJs(thread.wasm, options),
    format: thread.format,
    ...(restore ? { restore } : {}),
  });
}

const freshFrom = ({ image }: Baseline): Restoration => ({ image, pending: "keep", cells: [] });

/** For an image that passed `imageProblem` and cannot be opened all the same. */
function unreadable(cause: unknown): never {
  if (cause instanceof RlmError) throw cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  throw new RlmError("checkpoint_lost", `the checkpoint cannot be opened: ${why}`, {
    suggestion: "Go on from an earlier checkpoint.",
    cause,
  });
}

function closeServed<Message>(served: Served<Message> | undefined): FromThread {
  const bytes = served?.machine.linearBytes() ?? 0;
  served?.machine[Symbol.dispose]();
  served?.library.close?.();
  return { kind: "closed", isSmall: bytes <= REUSED_BYTES };
}

/** If a machine has more linear memory than this its thread is ended, since a thread may keep dropped memory for long. */
const REUSED_BYTES = 16 * 2 ** 20;

/** The pages of a checkpoint cross without a copy. */
function transferable(message: FromThread): ArrayBuffer[] {
  if (message.kind === "idle" && message.checkpoint) return transferable(message.checkpoint);
  if (message.kind !== "checkpointed") return [];
  const buffers = message.checkpoint.delta.pages.flatMap(({ numbers, changes }) => [numbers.buffer, changes.buffer]);
  return buffers.filter((buffer) => buffer instanceof ArrayBuffer);
}
