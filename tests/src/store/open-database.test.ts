import { expect, test } from "vitest";
import { openDatabase } from "../../../src/store/open-database.ts";
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
