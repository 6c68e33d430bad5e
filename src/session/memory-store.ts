import type { Store } from "../store/port.ts";
import { openStore } from "../store/thread.ts";

let shared: Promise<Store> | undefined;

/**
 * The store of sessions that end with the process: one for all of them, in a thread of its own.
 *
 * @param worker the thread's entry, where it is first opened
 */
export function memoryStore(worker?: URL): Promise<Store> {
  shared ??= openStore(null, worker ? { worker } : {});
  return shared;
}

/**
 * What of a session in memory can go when an exec has ended: the ends before the newest whole image. Nothing can be
 * continued from them any more, and they would fill the memory.
 */
export function openRetention(): (end: { readonly id: string; readonly isWhole: boolean }) => readonly string[] {
  let ends: string[] = [];
  return ({ id, isWhole }) => {
    const superfluous = isWhole ? ends : [];
    ends = isWhole ? [id] : [...ends, id];
    return superfluous;
  };
}
