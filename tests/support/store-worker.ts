import { EventEmitter } from "node:events";
import { MessageChannel, type Transferable, Worker } from "node:worker_threads";
import { entryUrl } from "../../src/entries.ts";
import type { StoreSetup } from "../../src/store/thread/methods.ts";

/** A store that is served in the thread of the test. Messages are copied and handed over as between threads. */
class Served extends EventEmitter {
  readonly #near;

  constructor(setup: StoreSetup) {
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
    // Loaded when a store is opened, since many tests open none. As a thread does, it begins once its starter listens.
    const { serveStore } = await import("../../src/store/thread/serve.ts");
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

/** Serves stores here, since tests open hundreds. Another entry than the usual one gets a thread of its own. */
export function startStore(entry: URL, setup: StoreSetup): Served | Worker {
  const isUsual = entry.href === entryUrl("store-thread-entry").href;
  return isUsual ? new Served(setup) : new Worker(entry, { workerData: setup, execArgv: [] });
}
