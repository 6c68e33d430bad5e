import { join } from "node:path";
import { expect, test } from "vitest";
import { openSession, openStore } from "../../../src/index.ts";
import { openStore as openRawStore } from "../../../src/store/index.ts";
import { folderWith } from "../../support/tree.ts";

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

test("a closed store is closed, as often as that is said", async () => {
  const folder = join(folderWith(), "store");
  await expect(openStore("")).rejects.toMatchObject({
    message: "openStore(): the argument must be a text that is not empty, and is empty",
  });
  const store = await openStore(folder);
  await expect(store.remove("")).rejects.toMatchObject({ code: "invalid_argument" });
  await store.close();
  await store.close();
  await expect(store.list()).rejects.toMatchObject({ code: "store_failed", message: "the store is closed" });
});

test("a child is opened and dropped with its parent alone, and nobody can make one by its name", async () => {
  const folder = join(folderWith(), "store");
  const root = await openSession({ store: folder, session: "main" });
  await using raw = await openRawStore(folder);
  const called = `${root.id}.01KEXEC0000000000000000000.2`;
  const fresh = { origin: "child", settings: null, at: 1 } as const;
  await raw.create({ ...fresh, id: "01KCHDDDDDDDDDDDDDDDDDDDDD", name: called });
  await raw.create({ ...fresh, id: "01KGRANDDDDDDDDDDDDDDDDDDD", name: "01KCHDDDDDDDDDDDDDDDDDDDDD.E.1" });
  await raw.release("01KCHDDDDDDDDDDDDDDDDDDDDD");
  await raw.release("01KGRANDDDDDDDDDDDDDDDDDDD");
  await using store = await openStore(folder);
  const refusal = (id: string, call: string) => ({
    code: "invalid_argument",
    message: `session ${id} is a child: it answers call ${call} of main`,
    suggestion: expect.stringContaining("is resumed, and dropped, with main"),
  });
  for (const session of [called, "01KCHDDDDDDDDDDDDDDDDDDDDD"]) {
    const expected = refusal("01KCHDDDDDDDDDDDDDDDDDDDDD", "01KEXEC0000000000000000000.2");
    await expect(openSession({ store: folder, session })).rejects.toMatchObject(expected);
    await expect(store.remove(session)).rejects.toMatchObject(expected);
    expect((await store.describe(session)).origin).toBe("child");
  }
  await expect(store.remove("01KGRANDDDDDDDDDDDDDDDDDDD")).rejects.toMatchObject(
    refusal("01KGRANDDDDDDDDDDDDDDDDDDD", "E.1"),
  );
  for (const session of [`${root.id}.mine`, `${root.id}.01KEXEC0000000000000000000.9`]) {
    const expected = { code: "invalid_argument", message: expect.stringContaining("is the name of a child") };
    await expect(openSession({ store: folder, session })).rejects.toMatchObject(expected);
    await expect(store.fork("main", { name: session })).rejects.toMatchObject(expected);
  }
  expect((await store.list()).map(({ name }) => name)).toEqual(["main"]);
  expect((await store.describe("@last")).name).toBe("main");
  await root.close();
  await store.remove("main");
  await expect(store.describe(called)).rejects.toMatchObject({ code: "session_not_found" });
});
