import { EventEmitter } from "node:events";
import { MessageChannel, type Transferable, Worker, type WorkerOptions } from "node:worker_threads";
import { entryUrl } from "../../src/entries.ts";
import { serveStore } from "../../src/store/thread/serve.ts";

// What `src/store/thread/thread.ts` imports as `Worker` in tests: see vitest.config.ts. A thread takes longer to start than a
// test has its store open. Messages are copied and handed over as between threads. Another entry gets a thread of its own.

class Served extends EventEmitter {
  readonly #near;

  constructor({ workerData }: WorkerOptions) {
    super();
    const { port1: near, port2: far } = new MessageChannel();
    this.#near = near;
    near.on("message", (message) => this.emit("message", message));
    near.once("close", () => this.emit("exit", 0));
    // As a thread does, it begins once its starter has said what it listens to.
    setImmediate(() => {
      serveStore(far, workerData).catch((error) => {
        this.emit("error", error);
        far.close();
      });
      far.unref();
    });
  }

  postMessage(message: unknown, transfer: readonly Transferable[]): void {
    this.#near.postMessage(message, transfer);
  }

  ref(): void {
    this.#near.ref();
  }

  unref(): void {
    this.#near.unref();
  }
}

function storeWorker(entry: URL, options: WorkerOptions): Served | Worker {
  return entry.href === entryUrl("store-thread-entry").href ? new Served(options) : new Worker(entry, options);
}

/** Called with `new`, a function that answers an object gives that object. */
export { storeWorker as Worker };
