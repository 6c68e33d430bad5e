import { once } from "node:events";
import { closeSync, fdatasync, openSync } from "node:fs";
import { Worker } from "node:worker_threads";
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
 * Bytes of the log after which its pages are moved into the database: readers look through the log
 * first.
 */
export const LOG_BYTES = 16 * 2 ** 20;
/** Fewer are moved faster than a thread starts. */
const FEW_BYTES = 2 ** 20;

/** @param database path of the database */
export function openLog(database: string): Log {
  let file: number | undefined;
  let bytes = 0;
  let moving = Promise.resolve();
  let failure: unknown;

  function move(): Promise<void> {
    bytes = 0;
    // What fails here is done once the log has grown as much again, or when the database is closed.
    const work = () => pragmaApart(database, "wal_checkpoint(PASSIVE)").then(nothing, nothing);
    moving = moving.then(work);
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

/** The data with which the thread is started. */
export interface PragmaApart {
  /** Path of a database. */
  readonly database: string;
  /** With its arguments. */
  readonly pragma: string;
}

/** Runs a pragma that takes long in a thread of its own, and returns its rows. */
export async function pragmaApart(database: string, pragma: string): Promise<readonly Row[]> {
  const worker = new Worker(entryUrl("store/sqlite/thread-entry"), {
    workerData: { database, pragma } satisfies PragmaApart,
    // Flags of a caller such as --input-type are refused for a thread.
    execArgv: [],
  });
  const [rows] = await once(worker, "message");
  return rows;
}
