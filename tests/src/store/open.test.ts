import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSession, openStore } from "../../../src/index.ts";
import { shareStore } from "../../../src/store/open.ts";
import { listed } from "../../support/listed.ts";
import { folderWith } from "../../support/tree.ts";

const newFolder = () => join(folderWith({ "store/": "" }), "store");

test("sessions in one folder share a store, and what one keeps another one finds", async () => {
  const store = newFolder();
  await using first = await openSession({ store, session: "first" });
  const second = await openSession({ store, session: "second" });
  await first.exec("var n = 1");
  await second.exec("var n = 2");
  await second.close();
  expect(await first.exec("n")).toMatchObject({ result_json: 1 });
  await using again = await openSession({ store, session: "second" });
  expect(await again.exec("n")).toMatchObject({ result_json: 2 });
});

test("a session that is open in this process is busy for all others of it", async () => {
  const store = newFolder();
  await using session = await openSession({ store, session: "one" });
  const busy = { code: "session_busy", message: expect.stringContaining(String(process.pid)) };
  await expect(openSession({ store, session: "one" })).rejects.toMatchObject(busy);
  await using sessions = await openStore(store);
  await expect(sessions.remove("one")).rejects.toMatchObject(busy);
  expect(await session.exec("1")).toMatchObject({ result_json: 1 });
  expect(await sessions.list()).toMatchObject([{ name: "one", status: "open" }]);
});

test("who closes a store without releasing a session leaves it to others", async () => {
  const folder = newFolder();
  const [first, second] = [await shareStore(folder), await shareStore(folder)];
  onTestFinished(() => second[Symbol.asyncDispose]());
  const session = { name: "s", origin: "library", settings: null, at: 1 } as const;
  await first.create({ ...session, id: "id-1" });
  await expect(second.lease("id-1")).rejects.toMatchObject({ code: "session_busy" });
  await second.release("id-1");
  await expect(second.lease("id-1")).rejects.toMatchObject({ code: "session_busy" });
  await first[Symbol.asyncDispose]();
  expect(await second.lease("id-1")).toMatchObject({ name: "s" });
});

test("an account is one user's, and a session that is not removed is nobody's", async () => {
  const folder = newFolder();
  const [first, second] = [await shareStore(folder), await shareStore(folder)];
  onTestFinished(() => second[Symbol.asyncDispose]());
  expect([await first.batches.lease("a"), await second.batches.lease("a")]).toEqual([0, null]);
  await second.batches.release("a");
  expect(await second.batches.lease("a")).toBeNull();
  await first.create({ id: "id-1", name: "s", origin: "library", settings: null, at: 1 });
  await first.release("id-1");
  const request = {
    session: "id-1",
    call: "c",
    k: 0,
    root: "id-1",
    run: null,
    account: "a",
    model: "m",
    body: 1,
    proof: "",
  };
  await first.batches.keep(request);
  await first.batches.close(request, 0, { requests: 1, bytes: 1 });
  await expect(second.remove("id-1")).rejects.toMatchObject({ code: "session_busy" });
  await first.remove("id-1", { discard: true });
  await first[Symbol.asyncDispose]();
  expect(await second.batches.lease("a")).toBe(0);
});

test("a store that did not open, or was closed, is opened anew by the next", async () => {
  const folder = join(folderWith(), "new");
  writeFileSync(folder, "");
  await expect(shareStore(folder)).rejects.toMatchObject({ code: "store_failed" });
  await expect(shareStore(folder)).rejects.toMatchObject({ code: "store_failed" });
  rmSync(folder);
  const first = await shareStore(folder);
  await first[Symbol.asyncDispose]();
  await using second = await shareStore(folder);
  expect(await listed(second)).toEqual([]);
});
