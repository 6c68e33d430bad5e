import { closeSync, fdatasync, openSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { openThreadCaller, type ThreadCaller } from "../../../runtime/index.ts";
import { entryUrl } from "../../entries.ts";
import type { Row } from "../rows/row.ts";

/**
 * The write-ahead log of a database. Other threads wait for the disk, and the caller's thread never
 * does.
 */
export interface Log {
  /** Resolves once every commit so far is on disk. */
  flush(): Promise<void>;
  /**
   * Throws what `flush` has rejected with: the contents of the disk are unknown, so nothing more is
   * written.
   */
  check(): void;
  /**
   * The log has so many bytes more. If it is long, its pages begin to be moved into the database.
   */
  grown(bytes: number): void;
  /** Moves its pages into the database if there are many. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Bytes of the log after which its pages are moved into the database. Once all are moved the file is
 * written again from its beginning, which takes the disk less time than a file that grows.
 */
export const LOG_BYTES = 4 * 2 ** 20;
/** Fewer are moved faster than a thread starts. */
const FEW_BYTES = 2 ** 20;

/**
 * @param database path of the database
 * @param moveRest moves the pages that were written while others were moved, unless a transaction is
 * open: the log begins anew only if it has none
 */
export function openLog(database: string, moveRest: () => void): Log {
  const thread = openPragmaThread(database);
  let file: number | undefined;
  let bytes = 0;
  let moving = Promise.resolve();
  let failure: unknown;

  function move(): Promise<void> {
    bytes = 0;
    // A move that fails is made up for once the log has grown as much again, or when the database is closed.
    const work = async () => {
      await thread.run("wal_checkpoint(PASSIVE)");
      if (failure === undefined) moveRest();
    };
    moving = moving.then(work).catch(nothing);
    return moving;
  }

  return {
    async flush() {
      // SQLite has made it by now. It locks another file, so closing this one frees no lock.
      try {
        file ??= openSync(`${database}-wal`, "r+");
        await flushed(file);
      } catch (error) {
        failure = error;
        throw error;
      }
    },
    check() {
      if (failure !== undefined) throw failure;
    },
    grown(more) {
      bytes += more;
      if (bytes >= LOG_BYTES) void move();
    },
    empty: () => (bytes > FEW_BYTES ? move() : moving),
    async close() {
      await moving;
      await thread.end();
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

function flushed(file: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(file, (error) => (error ? reject(error) : resolve()));
  });
}

function nothing(): void {}

/** Runs pragmas that take long in a thread of their own, which starts with the first one. */
interface PragmaThread {
  /** Runs a pragma, with its arguments, and returns its rows. */
  run(pragma: string): Promise<readonly Row[]>;
  end(): Promise<void>;
}

/** The thread ends after this time without a pragma, ms. It takes about 10 MB. */
const IDLE_MS = 10_000;

/** @param database path of the database */
export function openPragmaThread(database: string): PragmaThread {
  let thread: ThreadCaller<string, readonly Row[]> | undefined;
  let idle: NodeJS.Timeout | undefined;

  async function end(): Promise<void> {
    const ending = thread;
    thread = undefined;
    clearTimeout(idle);
    await ending?.end();
  }

  return {
    async run(pragma) {
      clearTimeout(idle);
      thread ??= startThread(database);
      try {
        return await thread.ask(pragma);
      } catch (error) {
        await end();
        throw error;
      } finally {
        if (thread) idle = setTimeout(end, IDLE_MS).unref();
      }
    },
    end,
  };
}

function startThread(database: string): ThreadCaller<string, readonly Row[]> {
  // Flags of a caller such as --input-type are refused for a thread.
  const worker = new Worker(entryUrl("store/sqlite/thread-entry"), { workerData: database, execArgv: [] });
  return openThreadCaller(worker, "the thread of a database ended");
}
