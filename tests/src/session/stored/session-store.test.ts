import { join } from "node:path";
import { expect, test } from "vitest";
import { openSession, openStore } from "../../../../src/index.ts";
import { folderWith } from "../../../support/tree.ts";

test("the library lists, describes, forks and drops the sessions of a folder", async () => {
  const folder = join(folderWith(), "store");
  const session = await openSession({ store: folder, session: "main" });
  await session.exec("let n = 1");
  await session.exec("n = 2");
  await session.close();
  await using store = await openStore(folder);
  expect(await store.list()).toMatchObject([{ name: "main", origin: "library", status: "idle", execs: 2 }]);
  const { checkpoints } = await store.describe("main");
  const [first] = checkpoints;
  const fork = await store.fork("main", { name: "past", checkpoint: first?.id ?? "" });
  await using past = await openSession({ store: folder, session: fork.id });
  expect([past.name, await past.exec("n")]).toMatchObject(["past", { result_json: 1 }]);
  expect((await store.list()).map(({ name, status }) => [name, status])).toEqual([
    ["past", "open"],
    ["main", "idle"],
  ]);
  await expect(store.remove("past")).rejects.toMatchObject({ code: "session_busy" });
  expect(await store.collect({ namedMs: 0, dryRun: true })).toMatchObject({ sessions: ["main"] });
  await store.remove("main");
  expect((await store.list()).map(({ name }) => name)).toEqual(["past"]);
  expect((await store.verify()).filter((line) => !line.startsWith("info:"))).toEqual([]);
});
