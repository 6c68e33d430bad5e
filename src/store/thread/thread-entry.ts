import { hostname } from "node:os";
import { parentPort, type Transferable, workerData } from "node:worker_threads";
import { RlmError } from "../../../runtime/errors.ts";
import { remedy } from "../../../runtime/remedies.ts";
import { openSqliteStore } from "../sqlite/sqlite.ts";
import type { Answer, Arguments, Method, Request, Results, SentError, StoreSetup, SyncMethods } from "./methods.ts";

// The store's thread: carries out requests one after the other.
const port = parentPort;
if (!port) throw new Error("this module is the entry of a worker thread");
const { folder }: StoreSetup = workerData;

const opened = attempt(0, () => openSqliteStore(folder, { pid: process.pid, host: hostname() }));
if (opened.ok) {
  const store = opened.value;
  port.on("message", ({ id, method, args }: Request) => {
    const isLast = method === "close";
    const answer = attempt(id, () => (isLast ? store[Symbol.dispose]() : perform(store, method, args)));
    port.postMessage(answer, answer.ok ? buffersOf(method, answer.value) : []);
    if (isLast) port.close();
  });
  port.postMessage({ id: 0, ok: true, value: null });
} else {
  port.postMessage(opened);
}

function perform<Name extends Method>(store: SyncMethods, method: Name, args: Arguments[Name]): Results[Name] {
  return store[method](...args);
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
function buffersOf(method: Request["method"], value: unknown): Transferable[] {
  if (method !== "image" || typeof value !== "object" || value === null) return [];
  const memory: unknown = Reflect.get(value, "memory");
  return memory instanceof Uint8Array && memory.buffer instanceof ArrayBuffer ? [memory.buffer] : [];
}
