import { parentPort, workerData } from "node:worker_threads";
import { serveStore } from "./serve.ts";

// The store's thread.
if (!parentPort) throw new Error("this module is the entry of a worker thread");
await serveStore(parentPort, workerData);
