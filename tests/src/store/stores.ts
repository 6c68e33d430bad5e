import { join } from "node:path";
import { expect, test } from "vitest";
import { entryUrl } from "../../../src/entries.ts";
import type { Store } from "../../../src/store/port.ts";
import { StoreHere } from "../../../src/store/thread/here.ts";
import { openStore, startStoresBy } from "../../../src/store/thread/thread.ts";
import { findingsIn } from "../../../src/store/verify-store.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";
import { startStore } from "../../support/store-worker.ts";
import { folderWith } from "../../support/tree.ts";

/** Each kind of store, and how a fresh one is opened. */
export interface StoreKind {
  readonly kind: string;
  /** Why its tests are skipped; null: they are not. */
  readonly skipped: string | null;
  open(): Promise<Store>;
}

/** Opens a store in memory that moves to a thread with the first pages or text. Others stay in the thread of the test. */
export function openMoving(entry = entryUrl("store-thread-entry")): Promise<Store> {
  startStoresBy((_entry, setup) => new StoreHere(entry, setup));
  const opening = openStore(null, { entry, most: 0 });
  startStoresBy(startStore);
  return opening;
}

export const STORES: readonly StoreKind[] = [
  { kind: "in a folder", skipped: null, open: () => openStore(join(folderWith(), "store")) },
  { kind: "in memory, moving to a thread", skipped: null, open: () => openMoving() },
  { kind: "on a server", skipped: NO_POSTGRES, open: async () => openStore(await freshStoreUrl()) },
];

/** A test of this kind of store, which leaves nothing that `doctor` would name. */
export const testOf =
  ({ skipped, open }: StoreKind) =>
  (name: string, work: (store: Store) => Promise<void>): void =>
    test(name, async ({ skip }) => {
      skip(skipped !== null, skipped ?? "");
      await using store = await open();
      await work(store);
      expect(await findingsIn(store)).toEqual([]);
    });
