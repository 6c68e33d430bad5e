import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { entryUrl } from "../../entries.ts";
import type { Row } from "../rows/seal.ts";

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
