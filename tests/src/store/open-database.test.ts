import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/schema.ts";
import { folderWith } from "../../support/tree.ts";

// A kill cannot show whether a commit waits for the disk: the settings that make it so are looked at.
test("a commit is on disk when it returns: write-ahead log, synchronous=FULL", () => {
  const database = openDatabase(folderWith({}));
  const pragma = (name: string) => Object.values(database.get(`PRAGMA ${name}`) ?? {})[0];
  expect(pragma("journal_mode")).toBe("wal");
  expect(pragma("synchronous")).toBe(2);
  expect(pragma("busy_timeout")).toBe(10_000);
  database.close();
});

// A build of version 1 cannot read the origin `mcp`. It refuses a store of a later version by name (`store_too_new`).
test("a store of version 1 becomes one of the present version and keeps its sessions", () => {
  const packed = readFileSync(new URL("../../stored/bridge-2.db.gz", import.meta.url));
  const folder = folderWith({ "belay.db": gunzipSync(packed) });
  using before = new DatabaseSync(join(folder, "belay.db"));
  expect(before.prepare("PRAGMA user_version").get()).toEqual({ user_version: 1 });
  const sessions = before.prepare("SELECT count(*) AS n FROM sessions").get();
  const database = openDatabase(folder);
  expect(database.get("PRAGMA user_version")).toEqual({ user_version: SCHEMA_VERSION });
  expect(database.get("SELECT count(*) AS n FROM sessions")).toEqual(sessions);
  database.close();
});
