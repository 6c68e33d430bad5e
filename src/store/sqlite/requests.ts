import { hostname } from "node:os";
import { storeError } from "../failure.ts";
import { type AnyMethod, type Methods, type Serving, wrapEach } from "../methods.ts";
import { openSqliteStore } from "./store.ts";

/** A request that waits until those before it are carried out. */
interface Request {
  /**
   * True for one that reads or changes rows alone: those that wait at the same time are kept with
   * one sync.
   */
  readonly isShort: boolean;
  /** Carries it out. @returns what tells its caller, once what it has written or seen is on disk */
  perform(): Promise<() => void>;
  reject(error: unknown): void;
}

/**
 * Serves the store in a folder; null: in memory. It works in the caller's thread, one request after
 * the other.
 * @throws RlmError as `openSqliteStore`
 */
export function serveFile(folder: string | null): Serving {
  const { methods, database, texts, close } = openSqliteStore(folder, { pid: process.pid, host: hostname() });
  const waiting: Request[] = [];
  let isServing = false;

  async function serve(): Promise<void> {
    database.beginTurn();
    while (waiting.length > 0) {
      const others = waiting.findIndex(({ isShort }) => !isShort);
      if (others === 0) for (const request of waiting.splice(0, 1)) (await request.perform())();
      else await keepTogether(waiting.splice(0, others === -1 ? waiting.length : others));
      await database.endLongTurn();
    }
    isServing = false;
  }

  async function keepTogether(requests: readonly Request[]): Promise<void> {
    const held: { readonly request: Request; readonly tell: () => void }[] = [];
    try {
      await database.together(async (isWriting) => {
        for (const request of requests) {
          const tell = await request.perform();
          if (isWriting()) held.push({ request, tell });
          else tell();
        }
      });
    } catch (error) {
      for (const { request } of held) request.reject(storeError(error, folder));
      return;
    }
    for (const { tell } of held) tell();
  }

  function ask<T>(isShort: boolean, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const perform = async () => {
        try {
          const value = await work();
          return () => resolve(value);
        } catch (error) {
          return () => reject(error);
        }
      };
      waiting.push({ isShort, perform, reject });
      if (isServing) return;
      isServing = true;
      // All requests of one round of the event loop are there by then.
      setImmediate(() => void serve());
    });
  }

  return {
    methods: wrapEach(methods, (method: AnyMethod, name) => {
      const isShort = name.startsWith("jobs.") || OF_ROWS.has(name);
      return (...args) => ask(isShort, () => method(...args));
    }),
    texts,
    close: () => ask(false, close),
  };
}

const OF_ROWS: ReadonlySet<string> = new Set<keyof Methods>([
  "create",
  "commit",
  "find",
  "journal",
  "hasBaseline",
  "cached",
]);
