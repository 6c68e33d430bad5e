import { Worker } from "node:worker_threads";
import type { Baseline, ImageFormat } from "../images/image.ts";
import { machineLost } from "../lost.ts";
import { type FromThread, SHARED } from "../protocol.ts";

/** A thread that serves machines, one after the other. */
export type MachineThread = ReturnType<typeof threadOf>;

export interface Listener {
  heard(message: FromThread): void;
  gone(why: string): void;
}

/** The first message to a thread. */
export interface ThreadSetup {
  readonly wasm: WebAssembly.Module;
  readonly format: ImageFormat;
  readonly shared: Int32Array;
  /** True if the thread makes the image of a fresh guest first. */
  readonly makesBaseline: boolean;
}

/** The first message of a thread. */
export type ThreadStart =
  | { readonly kind: "up"; readonly baseline: Baseline | null }
  | { readonly kind: "failed"; readonly message: string };

/** The part of a thread's heap for new objects, MB. V8 would let it grow to 48, and buffers that are garbage lie as long. */
export const YOUNG_MB = 3;

/**
 * @param setup makes what the thread gets, while it begins
 * @throws RlmError `machine_lost` if the thread ends before it can serve
 */
export async function startMachineThread(module: URL, setup: () => Omit<ThreadSetup, "shared">) {
  const shared = new Int32Array(new SharedArrayBuffer(SHARED.words * Int32Array.BYTES_PER_ELEMENT));
  const worker = new Worker(module, {
    // Deep recursion in the guest must meet its own limit (512 KB) long before this one.
    resourceLimits: { stackSizeMb: 16, maxYoungGenerationSizeMb: YOUNG_MB },
    // Node refuses some flags of a process for a thread, such as --input-type.
    execArgv: [],
  });
  try {
    const started = await new Promise<ThreadStart>((resolve) => {
      worker.once("message", resolve);
      worker.once("error", ({ message }) => resolve({ kind: "failed", message }));
      worker.once("exit", () => resolve({ kind: "failed", message: "the machine's thread ended" }));
      worker.postMessage({ ...setup(), shared } satisfies ThreadSetup);
    });
    if (started.kind === "failed") throw machineLost(started.message);
    return { thread: threadOf(worker, shared), baseline: started.baseline };
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}

function threadOf(worker: Worker, shared: Int32Array) {
  let listener: Listener | null = null;
  worker.on("message", (message: FromThread) => listener?.heard(message));
  worker.on("error", (error) => listener?.gone(error.message));
  const gone = new Promise<void>((resolve) => {
    worker.once("exit", () => {
      listener?.gone("the machine's thread ended");
      resolve();
    });
  });
  return {
    /** The words of `SHARED`. */
    shared,
    gone,
    hold: (on: boolean): void => (on ? worker.ref() : worker.unref()),
    send: (message: unknown, transfer: readonly ArrayBuffer[]) => worker.postMessage(message, [...transfer]),
    /** Sets what hears the thread's messages from now on, or null. */
    listen(next: Listener | null): void {
      listener = next;
    },
    async end(): Promise<void> {
      await worker.terminate();
    },
  };
}
