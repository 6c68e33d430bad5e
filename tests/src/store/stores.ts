import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/port.ts";
import { findingsIn } from "../../../src/store/whole-reads.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";
import { askServer } from "../../support/postgres/sql.ts";
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
  { kind: "on a server", skipped: NO_POSTGRES, open: openOnServer },
];

/** Stores on the server that were emptied. To make one takes a server ten times as long as to open it. */
const emptied: string[] = [];

async function openOnServer(): Promise<Store> {
  const url = emptied.pop() ?? (await freshStoreUrl());
  const store = await openStore(url);
  return {
    ...store,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await askServer(url, EMPTYING);
      emptied.push(url);
    },
  };
}

/** Takes all rows out of a store but its version, and has numbers begin at 1 again. */
const EMPTYING = `DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT oid::regclass AS name, relkind FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'S') AND relname <> 'meta'
  LOOP
    EXECUTE CASE one.relkind WHEN 'r' THEN format('DELETE FROM %s', one.name)
      ELSE format('ALTER SEQUENCE %s RESTART', one.name) END;
  END LOOP;
END $$`;

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
