import { folderProblem } from "../home.ts";
import { RlmError } from "../index.ts";
import type { Store } from "../store/index.ts";
import type { Host } from "./host.ts";

/** Opens the store in this folder (null: in memory). @throws RlmError `store_failed` for a folder that cannot be written */
export async function openStoreIn(folder: string | null, host: Host, cure = KEEP_NOTHING): Promise<Store> {
  const problem = folder === null ? null : folderProblem(folder);
  if (problem === null) return host.openStore(folder);
  throw new RlmError("store_failed", `sessions cannot be kept: ${problem}`, {
    suggestion: `Name a folder that can be written with --store DIR or BELAY_HOME${cure}.`,
  });
}

const KEEP_NOTHING = ", or keep nothing with --no-store";

/** Opens a store for commands that only look, closes it after the work. */
export async function withStore<T>(folder: string, host: Host, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStoreIn(folder, host, "");
  try {
    return await work(store);
  } finally {
    await store[Symbol.asyncDispose]();
  }
}
