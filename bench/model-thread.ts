import { parentPort, workerData } from "node:worker_threads";
import { startModelServer } from "../tests/support/model-server.ts";

// A model server in a thread of its own: its work is not the contestants'.
const server = await startModelServer(() => ({ text: "ok", delayMs: workerData.delayMs }));
parentPort?.postMessage(server.url);
