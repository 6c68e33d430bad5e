import { type EventEmitter, once } from "node:events";
import { type Transferable, Worker } from "node:worker_threads";
import { RlmError } from "../../../runtime/errors.ts";
import { buffersOf, type ImagePages, YOUNG_MB } from "../../../runtime/index.ts";
import { entryUrl } from "../../entries.ts";
import { isRecord } from "../../platform/json.ts";
import { keepStoreFiles } from "../../platform/own-files.ts";
import { isServer } from "../../platform/store-place.ts";
import type { Lease, Step, Store, StoredContext } from "../port.ts";
import { StoreHere } from "./here.ts";
import {
  type Answer,
  type Arguments,
  type Contents,
  eachMethod,
  type Loss,
  type Method,
  type Request,
  type Results,
  type SentError,
  type SentLease,
  type StoreSetup,
} from "./methods.ts";

/**
 * Opens the store in a folder, made if it is missing, or on a server; null: in memory, for this process alone. It works in
 * a thread of its own, which keeps the process alive only while something is asked of it. One in memory works in the caller's
 * thread until it is given more than `most` bytes at once. Buffers of pages are handed over: the caller cannot use them after
 * `commit` and `putBaseline`. Parts of contexts in shared memory are not copied.
 * @throws RlmError `store_failed`, `store_corrupt`, `store_too_new`; `invalid_config` in Deno, for one that is not in memory
 */
export async function openStore(
  place: string | null,
  { entry = entryUrl("store-thread-entry"), onEnd = () => {}, most = mostHere() } = {},
): Promise<Store> {
  if (place !== null && isDeno()) throw notInDeno();
  /** Ends of leases, by their sessions. */
  const losses = new Map<string, AbortController>();
  /** Leases that the caller has asked for and does not have yet: a server may take long to answer, and lose one meanwhile. */
  const asked = new Set<{ readonly id: string; readonly loss: AbortController }>();
  const lost = ({ lost, error }: Loss) => {
    const loss = losses.get(lost);
    if (losses.delete(lost)) loss?.abort(errorOf(error));
    else for (const { id, loss } of asked) if (id === lost) loss.abort(errorOf(error));
  };
  let moving: Promise<void> | undefined;
  let hasMoved = false;
  if (place !== null && !isServer(place)) keepStoreFiles(place);
  let thread = await openThread(startWorker(entry, { place }), { ended: () => hasMoved || onEnd(), lost });
  async function move(): Promise<void> {
    const contents = await thread.move();
    hasMoved = true;
    thread = await openThread(startThread(entry, { place, contents }), { ended: onEnd, lost });
  }
  const ask: typeof thread.ask = async (method, args, buffers = []) => {
    if (place === null && bytesIn(args, buffers) > most) moving ??= move();
    if (moving) await moving;
    return thread.ask(method, args, buffers);
  };
  async function leased(id: string, answer: Promise<SentLease>): Promise<Lease> {
    const loss = new AbortController();
    const taking = { id, loss };
    asked.add(taking);
    try {
      const sent = await answer;
      if (!loss.signal.aborted) losses.set(id, loss);
      return { ...sent, lost: loss.signal };
    } finally {
      asked.delete(taking);
    }
  }
  return {
    ...eachMethod(
      (name) =>
        (...args) =>
          ask(name, args),
    ),
    create: (session) => leased(session.id, ask("create", [session])),
    lease: (id) => leased(id, ask("lease", [id])),
    release(id) {
      losses.delete(id);
      return ask("release", [id]);
    },
    async remove(id, options) {
      await ask("remove", [id, options]);
      // Its lease has gone with it.
      losses.delete(id);
    },
    commit(session, step) {
      const { checkpoint } = step;
      if (!checkpoint) return ask("commit", [session, step]);
      const { pages, buffers } = handOver(checkpoint.pages);
      const moved: Step = { ...step, checkpoint: { ...checkpoint, pages } };
      return ask("commit", [session, moved], buffers);
    },
    putBaseline(id, meta, given) {
      const { pages, buffers } = handOver(given);
      return ask("putBaseline", [id, meta, pages], buffers);
    },
    putContext: (context) => ask("putContext", [withOwnBytes(context)]),
    [Symbol.asyncDispose]: () => Promise.allSettled([moving]).then(() => thread.close()),
  };
}

/** Starts the thread that serves a store: the module of `entry` calls `serveStore` with `setup`. */
export type StartThread = (entry: URL, setup: StoreSetup) => ServingThread;

/** The parts of a `Worker` that a store uses. */
type ServingThread = EventEmitter & Pick<Worker, "postMessage" | "ref" | "unref">;

const startThread: StartThread = (entry, setup) =>
  new Worker(entry, {
    workerData: setup,
    // Flags of a caller such as --input-type are refused for a thread.
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  });

let startWorker: StartThread = (entry, setup) =>
  setup.place === null ? new StoreHere(entry, setup) : startThread(entry, setup);

/** Deno gives a thread a port without `close` and without `receiveMessageOnPort`: a store in a thread would never answer. */
const isDeno = () => "deno" in process.versions;

function notInDeno(): RlmError {
  return new RlmError(
    "invalid_config",
    "sessions cannot be kept in Deno, whose worker threads lack what a store needs",
    {
      suggestion: "Run the program with Node 22.19 or newer, or with Bun; or keep nothing in a store.",
    },
  );
}

/** In about 8 ms so many bytes are packed. */
const mostHere = () => (isDeno() ? Number.POSITIVE_INFINITY : 2 * 2 ** 20);

/** Starts threads of stores in another way from now on, in the whole process. */
export function startStoresBy(start: StartThread): void {
  startWorker = start;
}

interface ThreadEvents {
  /** The thread can answer no more, whatever the reason. */
  ended(): void;
  lost(loss: Loss): void;
}

async function openThread(worker: ServingThread, events: ThreadEvents) {
  /** By the ids of the requests that are not answered. */
  const waiting = new Map<number, PromiseWithResolvers<Answer<never>>>();
  let ended: RlmError | undefined;
  let lastId = 0;
  let pending = 0;
  let closing: Promise<void> | undefined;

  const end = (why: string, cause?: unknown) => {
    ended ??= threadEnded(why, cause);
    events.ended();
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
  };
  worker.on("message", (answer: Answer<never> | Loss) => {
    if ("lost" in answer) return events.lost(answer);
    waiting.get(answer.id)?.resolve(answer);
    waiting.delete(answer.id);
  });
  worker.on("error", (error) => end(`the store's thread failed: ${error.message}`, error));
  worker.on("exit", () => end("the store is closed"));

  /** Keeps the process alive for as long as something is awaited. */
  async function awake<T>(awaited: Promise<T>): Promise<T> {
    if (pending++ === 0) worker.ref();
    try {
      return await awaited;
    } finally {
      if (--pending === 0) worker.unref();
    }
  }

  /** The value is what the method answers: the thread runs it. */
  async function answerTo(id: number) {
    const asked = Promise.withResolvers<Answer<never>>();
    waiting.set(id, asked);
    const answer = await awake(asked.promise);
    if (answer.ok) return answer.value;
    throw errorOf(answer.error);
  }

  function send(method: Request["method"], args: readonly unknown[], buffers: readonly Transferable[] = []) {
    if (ended) return Promise.reject(ended);
    lastId += 1;
    worker.postMessage({ id: lastId, method, args }, buffers);
    return answerTo(lastId);
  }

  async function close(): Promise<void> {
    if (ended) return;
    const exit = awake(once(worker, "exit"));
    await Promise.all([send("close", [false]), exit]);
  }

  await answerTo(0);
  return {
    /** Ends what serves a store in memory. */
    move: (): Promise<Contents> => send("close", [true]),
    async ask<Name extends Method>(
      method: Name,
      args: Arguments[Name],
      buffers?: readonly Transferable[],
    ): Promise<Results[Name]> {
      if (closing) throw threadEnded("the store is closed");
      return await send(method, args, buffers);
    },
    close(): Promise<void> {
      closing ??= close();
      return closing;
    },
  };
}

function errorOf({ code, message, suggestion }: SentError): RlmError {
  return new RlmError(code, message, { suggestion });
}

function threadEnded(why: string, cause?: unknown): RlmError {
  const suggestion = "Open the store again; what was committed is kept.";
  return new RlmError("store_failed", why, { suggestion, cause });
}

/** Bytes of pages and of a text. */
function bytesIn([given]: readonly unknown[], buffers: readonly Transferable[]): number {
  const parts = isRecord(given) && Array.isArray(given.parts) ? given.parts.map(({ bytes }) => bytes) : [];
  return [...parts, ...buffers].reduce((sum, { byteLength = 0 }) => sum + byteLength, 0);
}

/** Views of a part of a buffer are copied: what else lies in it stays with its owner. */
function handOver(given: ImagePages): { pages: ImagePages; buffers: Transferable[] } {
  const own = (words: Uint32Array) => (isWhole(words) ? words : words.slice());
  const pages = given.map((part) => ({ ...part, numbers: own(part.numbers), changes: own(part.changes) }));
  const buffers = pages.flatMap(buffersOf);
  return { pages, buffers: buffers.filter((one) => one instanceof ArrayBuffer) };
}

/** Bytes that are not in shared memory are copied, and only they: not the rest of the buffer that they are in. */
function withOwnBytes({ parts, ...rest }: StoredContext): StoredContext {
  return { ...rest, parts: parts.map(({ hash, bytes }) => ({ hash, bytes: isWhole(bytes) ? bytes : bytes.slice() })) };
}

/** True if to send the view sends no more than is seen through it. */
function isWhole({ buffer, byteLength }: ArrayBufferView): boolean {
  return buffer instanceof SharedArrayBuffer || buffer.byteLength === byteLength;
}
