import { RlmError } from "../../runtime/index.ts";
import type { Store } from "../../src/store/index.ts";
import { type Operation, storeAround } from "./store-around.ts";

/** How an operation of a store may fail: the disk breaks, is full, or may not be written. */
export const DISK_FAILURES = ["EIO", "ENOSPC", "EACCES"] as const;

export type DiskFailure = (typeof DISK_FAILURES)[number];

export interface FailingStore {
  readonly store: Store;
  /** The operation that failed; null as long as none did. */
  failed(): Operation | null;
  /** From now on all operations are carried out. */
  cure(): void;
}

export interface FailingOptions {
  /** The operation that fails, counted from 1. */
  readonly nth: number;
  /** All after it fail too, until they are cured; a lease can always be given back. */
  readonly lasting: boolean;
  readonly failure: DiskFailure;
}

/** A store of which an operation is not carried out but rejects. */
export function failingStore(store: Store, { nth, lasting, failure }: FailingOptions): FailingStore {
  let count = 0;
  let isCured = false;
  let failed: Operation | null = null;
  const around = storeAround(store, (name, run) => {
    count++;
    const fails = count === nth || (count > nth && lasting && name !== "release");
    if (isCured || !fails) return run();
    failed ??= name;
    const suggestion = `Cure ${failure} and try again.`;
    return Promise.reject(new RlmError("store_failed", `${name} failed with ${failure}`, { suggestion }));
  });
  const cure = () => {
    isCured = true;
  };
  return { store: around, failed: () => failed, cure };
}
