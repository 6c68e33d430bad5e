import type { Store } from "../store/index.ts";

/** Parts that a command gets from outside; tests pass a store that they can watch or end. */
export interface Host {
  /** Opens the store in this folder; null: one in memory. @throws RlmError `store_failed` and the like */
  openStore(folder: string | null): Promise<Store>;
}

/** The host of the real command. */
export const processHost: Host = {
  async openStore(folder) {
    // Loaded when a store is opened: help and usage errors need none.
    const { openStore } = await import("../store/index.ts");
    return openStore(folder);
  },
};
