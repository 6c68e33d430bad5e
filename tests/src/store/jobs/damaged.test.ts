import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openStore } from "../../../../src/store/thread/thread.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../../support/postgres/server.ts";
import { openSql } from "../../../support/postgres/sql.ts";
import { folderWith } from "../../../support/tree.ts";

const KINDS = [
  {
    kind: "in a folder",
    skipped: null,
    place: async () => join(folderWith(), "store"),
    async change(place: string, sql: string) {
      using database = new DatabaseSync(join(place, "belay.db"));
      database.exec(sql);
    },
  },
  {
    kind: "on a server",
    skipped: NO_POSTGRES,
    place: freshStoreUrl,
    async change(place: string, sql: string) {
      await using server = await openSql(place);
      await server.query(sql.replace(/(?<=UPDATE )/, "STORE."));
    },
  },
];

test.for(KINDS)("$kind: a job or a run whose row cannot be read is not left out", async (of, { skip }) => {
  skip(of.skipped !== null, of.skipped ?? "");
  const place = await of.place();
  await using store = await openStore(place);
  const limits = { nanodollars: null, tokens: null, sub_calls: null };
  await store.jobs.open({ id: "R", name: "r", queue: "q", share: 1, spec: null, hash: "", limits });
  await store.jobs.add("R", [{ id: "a", session: "S", input: 1, context: null }]);
  expect(await store.verify()).toEqual([]);

  const refused = { code: "store_corrupt", message: expect.stringContaining("state is wating") };
  await of.change(place, "UPDATE jobs SET state = 'wating'");
  await expect(store.jobs.counts("R")).rejects.toMatchObject(refused);
  await expect(store.jobs.list("R", { from: 0, limit: 9 })).rejects.toMatchObject(refused);
  expect(await store.verify()).toEqual([expect.stringMatching(/^job a of run R: .*a job's state is wating/)]);

  await of.change(place, "UPDATE jobs SET state = 'done', result = NULL, told = NULL");
  await of.change(place, "UPDATE runs SET state = 'opeo'");
  expect(await store.verify()).toEqual([expect.stringMatching(/^run r: .*a run's state is opeo/)]);
});
