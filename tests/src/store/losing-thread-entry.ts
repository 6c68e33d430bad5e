import { parentPort } from "node:worker_threads";

// A store's thread that loses each lease before it has answered that it took it, as a server that is slow brings it about.
parentPort?.postMessage({ id: 0, ok: true, value: null });
parentPort?.on("message", ({ id, method, args: [session] }) => {
  if (method === "lease") {
    const error = { code: "lease_lost", message: `the lease of ${session} is lost`, suggestion: "" };
    parentPort?.postMessage({ lost: session, error });
  }
  parentPort?.postMessage({ id, ok: true, value: { id: session } });
  if (method === "close") parentPort?.close();
});
