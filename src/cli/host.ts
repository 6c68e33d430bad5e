import type { Store } from "../store/index.ts";

/** Parts that a command gets from outside; tests pass a store that they can watch or end. */
export type Host = Readonly<typeof processHost>;

/** The host of the real command. */
export const processHost = {
  /** Opens the store in this folder; null: one in memory. @throws RlmError `store_failed` and the like */
  async openStore(folder: string | null): Promise<Store> {
    // Loaded when a store is opened: help and usage errors need none.
    const { openStore } = await import("../store/index.ts");
    return openStore(folder);
  },
};
