import { EventEmitter } from "node:events";
import { MessageChannel, type Transferable } from "node:worker_threads";
import { silenceSqliteWarning } from "../../platform/sqlite-warning.ts";
import type { StoreSetup } from "./methods.ts";

/**
 * A store that is served in the thread that asks it: a small one in memory, or that of a process that is over sooner than another
 * thread would have started. Messages are copied and handed over as between threads.
 */
export class StoreHere extends EventEmitter {
  readonly #near;

  constructor(_entry: URL, setup: StoreSetup) {
    super();
    const { port1: near, port2: far } = new MessageChannel();
    this.#near = near;
    near.on("message", (message) => this.emit("message", message));
    near.once("close", () => this.emit("exit", 0));
    this.#serve(setup, far).catch((error) => {
      this.emit("error", error);
      far.close();
    });
  }

  async #serve(setup: StoreSetup, far: InstanceType<typeof MessageChannel>["port1"]): Promise<void> {
    // As a thread does, it begins once its starter listens.
    loading ??= loadServing();
    const { serveStore } = await loading;
    const serving = serveStore(far, setup);
    far.unref();
    await serving;
  }

  postMessage(message: unknown, transfer?: readonly Transferable[]): void {
    this.#near.postMessage(message, transfer);
  }

  ref(): void {
    this.#near.ref();
  }

  unref(): void {
    this.#near.unref();
  }
}

let loading: ReturnType<typeof loadServing> | undefined;

/** Loads the store when one is opened. The program's own warnings are heard again afterwards. */
async function loadServing() {
  const { emitWarning } = process;
  silenceSqliteWarning();
  try {
    return await import("./serve.ts");
  } finally {
    process.emitWarning = emitWarning;
  }
}
