import { join } from "node:path";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";
import { folderWith } from "../../support/tree.ts";

/** Each kind of store, and where a fresh one is. */
export interface StoreKind {
  readonly kind: string;
  /** Why its tests are skipped; null: they are not. */
  readonly skipped: string | null;
  place(): Promise<string | null>;
}

export const STORES: readonly StoreKind[] = [
  { kind: "in a folder", skipped: null, place: async () => join(folderWith(), "store") },
  { kind: "in memory", skipped: null, place: async () => null },
  { kind: "on a server", skipped: NO_POSTGRES, place: freshStoreUrl },
];
