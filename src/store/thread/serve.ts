import { hostname } from "node:os";
import type { MessagePort, Transferable } from "node:worker_threads";
import { RlmError } from "../../../runtime/errors.ts";
import { remedy } from "../../../runtime/remedies.ts";
import { isServer } from "../../platform/store-place.ts";
import { openSqliteStore } from "../sqlite/sqlite.ts";
import type {
  Answer,
  Arguments,
  Loss,
  Method,
  Request,
  Results,
  SentError,
  StoreSetup,
  SyncMethods,
  WireMethods,
} from "./methods.ts";

/**
 * Serves the store of a place over a port, until `close`. A file answers one request after the other. A server is asked for
 * several things at once, but for one session in the order in which it was asked.
 */
export async function serveStore(port: MessagePort, setup: StoreSetup): Promise<void> {
  if (setup.place !== null && isServer(setup.place)) await serveServer(port, setup.place);
  else serveFile(port, setup);
}

function serveFile(port: MessagePort, { place, contents }: StoreSetup): void {
  const opened = attempt(0, () => openSqliteStore(place, { pid: process.pid, host: hostname() }, Date.now, contents));
  if (!opened.ok) {
    port.postMessage(opened);
    return;
  }
  const store = opened.value;
  port.on("message", ({ id, method, args }: Request) => {
    const answer = attempt(id, () => {
      if (method !== "close") return perform(store, method, args);
      using ended = store;
      return args[0] ? ended.contents() : null;
    });
    port.postMessage(answer, answer.ok ? buffersOf(method, answer.value) : []);
    if (method === "close") port.close();
  });
  port.postMessage({ id: 0, ok: true, value: null });
}

async function serveServer(port: MessagePort, url: string): Promise<void> {
  const lost = (session: string) => port.postMessage({ lost: session, error: sent(leaseLost(session)) } satisfies Loss);
  const { leaseLost } = await import("../postgres/failure.ts");
  const opened = await attemptLater(0, async () => {
    const { openPostgresStore } = await import("../postgres/store.ts");
    return openPostgresStore(url, { pid: process.pid, host: hostname(), lost });
  });
  if (!opened.ok) return port.postMessage(opened);
  const store = opened.value;
  const turns = openTurns();
  port.on("message", async ({ id, method, args }: Request) => {
    if (method === "close") {
      const answer = await attemptLater(id, async () => {
        await turns.over();
        await store[Symbol.asyncDispose]();
      });
      port.postMessage(answer);
      return port.close();
    }
    const answer = await turns.take(subjectOf({ id, args }), () =>
      attemptLater(id, () => ask(store.methods, method, args)),
    );
    port.postMessage(answer, answer.ok ? buffersOf(method, answer.value) : []);
  });
  port.postMessage({ id: 0, ok: true, value: null });
}

/** The subject of a request: calls for the same session or run are done in order. Others do not wait. */
function subjectOf({ id, args: [first] }: { readonly id: number; readonly args: readonly unknown[] }): string {
  return typeof first === "string" ? first : `call ${id}`;
}

function openTurns() {
  const last = new Map<string, Promise<unknown>>();
  return {
    take<T>(of: string, work: () => Promise<T>): Promise<T> {
      const turn = (last.get(of) ?? Promise.resolve()).then(work);
      last.set(of, turn);
      void turn.finally(() => {
        if (last.get(of) === turn) last.delete(of);
      });
      return turn;
    },
    over: async () => {
      await Promise.all(last.values());
    },
  };
}

function perform<Name extends Method>(store: SyncMethods, method: Name, args: Arguments[Name]): Results[Name] {
  return store[method](...args);
}

function ask<Name extends Method>(store: WireMethods, method: Name, args: Arguments[Name]): Promise<Results[Name]> {
  return store[method](...args);
}

function attempt<T>(id: number, work: () => T): Answer<T> {
  try {
    return { id, ok: true, value: work() };
  } catch (error) {
    return { id, ok: false, error: sent(error) };
  }
}

async function attemptLater<T>(id: number, work: () => Promise<T>): Promise<Answer<T>> {
  try {
    return { id, ok: true, value: await work() };
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
