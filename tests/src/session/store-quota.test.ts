import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSessionWith } from "../../../src/session/session.ts";
import { openStoreQuota } from "../../../src/session/store-quota.ts";
import { type Step, type Store, shareStore } from "../../../src/store/index.ts";
import { askScene, cell } from "../../support/ask/scene.ts";
import { textFile } from "../../support/converted.ts";
import { largeContext } from "../../support/large-context.ts";
import { openScripted } from "../../support/scripted-session.ts";
import { folderWith } from "../../support/tree.ts";

/** More than a MB that cannot be packed. */
const NOISE = "globalThis.noise = Array.from({ length: 100_000 }, Math.random)";
const FULL = /session \S+ would take \d+\.\d MB of the store, and may take 1\.0 MB$/;

/** What a commit keeps, in words. */
const told = ({ records = [], checkpoint }: Step) =>
  [...(checkpoint ? ["image"] : []), ...records.map(({ record }) => record)].join(" + ");

test("the check lies between the commit of the start and that of the end: a process killed there finds it again", async () => {
  const store = await shareStore(join(folderWith(), "store"));
  const commits: string[] = [];
  let dies = true;
  let isDead = false;
  const noting: Store = {
    ...store,
    async commit(session, step) {
      if (isDead) throw new Error("the process is gone");
      const more = await store.commit(session, step).catch((error) => {
        commits.push(`${told(step)} refused`);
        isDead = dies;
        throw error;
      });
      commits.push(told(step));
      return more;
    },
  };
  const open = () => openSessionWith({ session: "big", maxSessionMb: 1 }, { store: noting });
  const first = await open();
  expect((await first.exec("var x = 1")).success).toBe(true);
  commits.length = 0;
  await first.exec(`x = 2; ${NOISE}`).catch(() => {});
  expect(commits).toEqual(["rlm_start", "image + rlm_complete refused"]);
  await first.close();
  [dies, isDead] = [false, false];
  const second = await open();
  expect(second.unfinished()).toMatchObject({ kind: "cell" });
  const before = (await store.find("big"))?.bytes ?? 0;
  commits.length = 0;
  expect(await second.resume()).toMatchObject({ envelope: { success: false, error_code: "store_full" } });
  expect(commits).toEqual(["rlm_resume", "image + rlm_complete refused", "rlm_complete"]);
  expect((await store.find("big"))?.bytes).toBeLessThan(before + 10_000);
  expect(await second.exec("[x, typeof noise]")).toMatchObject({ success: true, result_json: [1, "undefined"] });
  await second.close();
  const rows = await store.checkpoints((await store.find("big"))?.id ?? "");
  expect(rows.map(({ kind }) => kind)).toEqual(["end", "end"]);
});

test("an image in the middle of a cell is refused too: nothing is sent, and the state is as before", async () => {
  const { session, seen, store, journal } = await openScripted(() => "yes", { maxSessionMb: 1 });
  const envelope = await session.exec(`var x = 1; ${NOISE}; await llm_query("a", { tools: [] })`);
  expect(envelope).toMatchObject({
    ...{ success: false, error_code: "store_full", error_message: expect.stringMatching(FULL) },
    suggestion:
      "Drop variables that are not needed, raise `maxSessionMb`, or begin another session; `remove(SESSION)` of the store drops one that is not needed.",
    warnings: ["state_restored: a fresh guest, after 0 of 0 sub-calls"],
  });
  expect([seen.prompts, await store.checkpoints(session.id)]).toEqual([[], []]);
  expect((await journal()).map(({ record }) => record)).toEqual(["rlm_start", "rlm_complete"]);
  expect(await session.exec("typeof x")).toMatchObject({ success: true, result_json: "undefined" });
});

test("a load is refused before its text is kept, a command before its state is; parts that are there are not counted again", async () => {
  const { session, store } = await openScripted(() => "yes", { maxSessionMb: 1 });
  await session.load({ text: "a".repeat(450_000), name: "half" });
  await session.load({ text: "a".repeat(450_000), name: "again" });
  await session.loadAppend({ text: "small", name: "small" });
  const chars = session.stats()?.length_chars;
  const bytes = (await store.find(session.id))?.bytes ?? 0;
  expect(bytes).toBeGreaterThan(450_000);
  const refused = { code: "store_full", message: expect.stringMatching(FULL) };
  await expect(session.loadAppend({ text: "b".repeat(600_000), name: "b" })).rejects.toMatchObject(refused);
  expect((await store.find(session.id))?.bytes).toBeLessThan(bytes + 10_000);
  const noise = Array.from({ length: 60_000 }, Math.random).join();
  await expect(session.memory.put("noise", noise)).rejects.toMatchObject(refused);
  expect(session.stats()?.length_chars).toBe(chars);
  expect(await session.exec("[P.length, memory.list().length]")).toMatchObject({ result_json: [chars, 0] });
});

test("an ask ends with the cell for whose state there is no space", async () => {
  const script = [cell("print(P.length)"), cell(NOISE), { text: "It is 4." }];
  const { session, server } = await askScene(script, "four", { maxSessionMb: 1 });
  const full = { success: false, error_code: "store_full", error_message: expect.stringMatching(FULL) };
  expect(await session.ask("How long?")).toMatchObject({ ...full, turns: 2, cells: 2 });
  expect([server.requests.length, session.unfinished()]).toEqual([2, null]);
});

test("a session that takes more than it may begins nothing, and goes on once it may take more", async () => {
  const store = await shareStore(join(folderWith(), "store"));
  const open = (maxSessionMb: number) => openSessionWith({ session: "s", maxSessionMb }, { store });
  const large = await open(3);
  await large.load({ text: "a".repeat(2_000_000), name: "large" });
  await large.close();
  const small = await open(1);
  const records = (await store.journal(small.id)).length;
  const refused = { code: "store_full", message: expect.stringMatching(FULL) };
  await expect(small.exec("1")).rejects.toMatchObject(refused);
  await expect(small.load({ text: "b", name: "b" })).rejects.toMatchObject(refused);
  expect([small.unfinished(), (await store.journal(small.id)).length]).toEqual([null, records]);
  await small.close();
  const again = await open(3);
  expect(await again.exec("P.length")).toMatchObject({ success: true, result_json: 2_000_000 });
  await again.close();
});

test("large contexts take nothing of the session's space, and at most three times what a context may have", async () => {
  const [home, indexDir] = [folderWith(), folderWith()];
  const row = { id: "s", name: "s", bytes: 0, text_bytes: 0 };
  const one = await largeContext([[textFile("a.txt", "a".repeat(5000))]], home);
  const two = await largeContext([[textFile("a.txt", "a".repeat(5000))], [textFile("b.txt", "b".repeat(5000))]], home);
  const options = { maxSessionMb: 1 / 2 ** 20, maxContextBytes: 7000, hashes: [], indexDir };
  const quota = openStoreQuota(row, null, options);
  quota.take(one, 1);
  quota.take(one, 0);
  // The file of its first part is counted already.
  quota.take(two, 0);
  expect(quota.left().taken).toBe(1);
  const taken = readdirSync(home).reduce((sum, name) => sum + statSync(join(home, name)).size, 0);
  expect(quota.indexRoom(two)).toBe(3 * 7000 - taken);
  const three = await largeContext([[textFile("c.txt", "c".repeat(12_000))]], home);
  const refused = {
    code: "context_too_large",
    message: expect.stringMatching(/^large contexts of session s would take 0\.0 MB of disk with their search indexes/),
    suggestion: "Load it in another session, or allow it with `maxContextMb: 1`.",
  };
  expect(() => quota.take(three, 0)).toThrow(expect.objectContaining(refused));
  quota.take(await largeContext([[textFile("d.txt", "d".repeat(5000))]], home), 0);

  // A session that is opened again has its files by the store, and the indexes by their names.
  const again = { ...options, hashes: [two.hash] };
  openStoreQuota({ ...row, text_bytes: 10_000 }, two, again).take(one, 0);
  writeFileSync(join(indexDir, `${two.hash}-v1.index`), Buffer.alloc(9000));
  // The index of a text itself takes nothing of its own room.
  const opened = openStoreQuota({ ...row, text_bytes: 10_000 }, two, { ...again, hashes: [one.hash, two.hash] });
  expect([opened.indexRoom(two), opened.indexRoom(one)]).toEqual([11_000, 2000]);
  expect(() => openStoreQuota({ ...row, text_bytes: 10_000 }, two, again).take(three, 0)).toThrow(/disk/);
  openStoreQuota({ ...row, text_bytes: 0 }, two, { ...again, hashes: [] }).take(three, 0);
});
