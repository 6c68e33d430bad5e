import { Worker } from "node:worker_threads";
import { entryUrl } from "../../src/entries.ts";
import { StoreHere } from "../../src/store/thread/here.ts";
import type { StoreSetup } from "../../src/store/thread/methods.ts";

/** Serves stores here, since tests open hundreds. Another entry than the usual one gets a thread of its own. */
export function startStore(entry: URL, setup: StoreSetup): StoreHere | Worker {
  const isUsual = entry.href === entryUrl("store-thread-entry").href;
  return isUsual ? new StoreHere(entry, setup) : new Worker(entry, { workerData: setup, execArgv: [] });
}
