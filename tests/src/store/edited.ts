import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";
import { askServer } from "../../support/postgres/sql.ts";
import { folderWith } from "../../support/tree.ts";

/** A kind of store whose rows can be changed by another hand. */
export interface EditedKind {
  readonly kind: string;
  /** Why its tests are skipped; null: they are not. */
  readonly skipped: string | null;
  place(): Promise<string>;
  /** Answers what the last statement reads. `STORE.` stands before the names of tables. */
  change(place: string, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export const EDITED: readonly EditedKind[] = [
  {
    kind: "in a folder",
    skipped: null,
    place: async () => join(folderWith(), "store"),
    async change(place, sql) {
      using database = new DatabaseSync(join(place, "belay.db"));
      const own = sql.replaceAll("STORE.", "");
      if (own.startsWith("SELECT")) return database.prepare(own).all();
      database.exec(own);
      return [];
    },
  },
  { kind: "on a server", skipped: NO_POSTGRES, place: freshStoreUrl, change: askServer },
];
