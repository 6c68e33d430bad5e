import { RlmError } from "../../runtime/index.ts";
import type { Store } from "../../src/store/port.ts";
import { type Operation, storeAround } from "./store-around.ts";

/** How an operation of a store may fail: the disk breaks, is full, or may not be written. */
export const DISK_FAILURES = ["EIO", "ENOSPC", "EACCES"] as const;

export type DiskFailure = (typeof DISK_FAILURES)[number];

export interface FailingStore {
  readonly store: Store;
  /** The operation that failed; null as long as none did. */
  failed(): Operation | null;
  /** Operations so far, the one that failed included. */
  count(): number;
}

/** A store whose n-th operation, counted from 1, is not carried out and rejects; 0: none. */
export function failingStore(store: Store, nth: number, failure: DiskFailure): FailingStore {
  let count = 0;
  let failed: Operation | null = null;
  const around = storeAround(store, (name, run) => {
    if (++count !== nth) return run();
    failed = name;
    const suggestion = `Cure ${failure} and try again.`;
    return Promise.reject(new RlmError("store_failed", `${name} failed with ${failure}`, { suggestion }));
  });
  return { store: around, failed: () => failed, count: () => count };
}
