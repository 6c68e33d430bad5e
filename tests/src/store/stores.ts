import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/port.ts";
import { findingsIn } from "../../../src/store/whole-reads.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";
import { folderWith } from "../../support/tree.ts";

/** Each kind of store, and how a fresh one is opened. */
export interface StoreKind {
  readonly kind: string;
  /** Why its tests are skipped; null: they are not. */
  readonly skipped: string | null;
  open(): Promise<Store>;
}

export const STORES: readonly StoreKind[] = [
  { kind: "in a folder", skipped: null, open: () => openStore(join(folderWith(), "store")) },
  { kind: "in memory", skipped: null, open: () => openStore(null) },
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
