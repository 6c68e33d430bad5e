import { hostname } from "node:os";
import { type MessagePort, receiveMessageOnPort, type Transferable } from "node:worker_threads";
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
  const post = ({ method }: Request, answer: Answer) =>
    port.postMessage(answer, answer.ok ? buffersOf(method, answer.value) : []);
  const answerTo = ({ id, method, args }: Request): Answer =>
    attempt(id, () => {
      if (method !== "close") return perform(store, method, args);
      using ended = store;
      return args[0] ? ended.contents() : null;
    });

  /** Performs a request, and those behind it that can be kept with it. Returns the first that cannot. */
  function performed(first: Request): Request | undefined {
    if (!isOfRows(first)) {
      post(first, answerTo(first));
      if (first.method === "close") port.close();
      return undefined;
    }
    const held: [Request, Answer][] = [];
    let next: Request | undefined = first;
    const kept = attempt(0, () =>
      store.together((isWriting) => {
        for (; next && isOfRows(next); next = receiveMessageOnPort(port)?.message) {
          const answer = answerTo(next);
          if (isWriting()) held.push([next, answer]);
          else post(next, answer);
        }
      }),
    );
    // What they have written, or seen, is on disk.
    for (const [request, answer] of held) post(request, kept.ok ? answer : { ...kept, id: request.id });
    return next;
  }

  port.on("message", (first: Request) => {
    for (let next: Request | undefined = first; next; ) next = performed(next);
  });
  port.postMessage({ id: 0, ok: true, value: null });
}

/** True for short requests that read or change rows alone: those that wait at the same time are kept with one sync. */
const isOfRows = ({ method }: Request) => method.startsWith("jobs.") || OF_ROWS.has(method);
const OF_ROWS: ReadonlySet<string> = new Set<Method>(["create", "commit", "find", "journal", "hasBaseline", "cached"]);

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
