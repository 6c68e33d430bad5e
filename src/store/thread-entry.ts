import { hostname } from "node:os";
import { parentPort, type Transferable, workerData } from "node:worker_threads";
import { RlmError } from "../../runtime/errors.ts";
import { remedy } from "../../runtime/remedies.ts";
import type { Answer, Request, SentError, StoreSetup } from "./requests.ts";
import { openSqliteStore, type SyncStore } from "./sqlite.ts";

// The store's thread: carries out requests one after the other.
const port = parentPort;
if (!port) throw new Error("this module is the entry of a worker thread");
const { folder }: StoreSetup = workerData;

const opened = attempt(0, () => openSqliteStore(folder, { pid: process.pid, host: hostname() }));
if (opened.ok) {
  const store = opened.value;
  port.on("message", (request: Request) => {
    const answer = attempt(request.id, () => perform(store, request));
    port.postMessage(answer, answer.ok ? buffersOf(request, answer.value) : []);
    if (request.method === "close") port.close();
  });
  port.postMessage({ id: 0, ok: true, value: null });
} else {
  port.postMessage(opened);
}

function perform(store: SyncStore, request: Request): unknown {
  switch (request.method) {
    case "create":
      return store.create(...request.args);
    case "lease":
      return store.lease(...request.args);
    case "release":
      return store.release(...request.args);
    case "find":
      return store.find(...request.args);
    case "list":
      return store.list(...request.args);
    case "commit":
      return store.commit(...request.args);
    case "journal":
      return store.journal(...request.args);
    case "checkpoints":
      return store.checkpoints(...request.args);
    case "checkpoint":
      return store.checkpoint(...request.args);
    case "image":
      return store.image(...request.args);
    case "putBaseline":
      return store.putBaseline(...request.args);
    case "hasBaseline":
      return store.hasBaseline(...request.args);
    case "putContext":
      return store.putContext(...request.args);
    case "context":
      return store.context(...request.args);
    case "contextIndex":
      return store.contextIndex(...request.args);
    case "hasContext":
      return store.hasContext(...request.args);
    case "cached":
      return store.cached(...request.args);
    case "fork":
      return store.fork(...request.args);
    case "remove":
      return store.remove(...request.args);
    case "gc":
      return store.gc(...request.args);
    case "verify":
      return store.verify(...request.args);
    case "close":
      return store[Symbol.dispose]();
  }
}

function attempt<T>(id: number, work: () => T): Answer<T> {
  try {
    return { id, ok: true, value: work() };
  } catch (error) {
    return { id, ok: false, error: sent(error) };
  }
}

function sent(error: unknown): SentError {
  if (error instanceof RlmError) return { code: error.code, message: error.message, suggestion: error.suggestion };
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: "store_failed", message, suggestion: `To look through the store ${remedy("verify")}.` };
}

/** An image's memory is handed over; contexts lie in shared memory, the rest is small. */
function buffersOf(request: Request, value: unknown): Transferable[] {
  if (request.method !== "image" || typeof value !== "object" || value === null) return [];
  const memory: unknown = Reflect.get(value, "memory");
  return memory instanceof Uint8Array && memory.buffer instanceof ArrayBuffer ? [memory.buffer] : [];
}
