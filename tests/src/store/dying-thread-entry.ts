import { parentPort } from "node:worker_threads";

// A store's thread that opens and then dies of its first request.
parentPort?.postMessage({ id: 0, ok: true, value: null });
parentPort?.on("message", () => {
  throw new Error("dying as asked");
});
