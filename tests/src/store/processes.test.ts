import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { run } from "../../../scripts/process.ts";
import { load } from "../../../src/context/index.ts";
import { sha256 } from "../../../src/pi/read-cache/file.ts";
import { openStore } from "../../../src/store/open.ts";
import { textKey } from "../../../src/store/sql/cache.ts";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/schema.ts";
import { findingsIn } from "../../../src/store/whole-reads.ts";
import { listed } from "../../support/listed.ts";
import { folderWith } from "../../support/tree.ts";
import { checkpointOf, contextOf, pagesOf, recordOf, sessionOf, TEXTS } from "./sample.ts";

const KEEPER = new URL("./keeper.ts", import.meta.url);
const HOLDER = new URL("./holder.ts", import.meta.url);

async function holder(folder: string) {
  const child = spawn(process.execPath, [fileURLToPath(HOLDER), folder], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return {
    pid: child.pid,
    async kill() {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
  };
}

test("a session that another process holds is busy until that process is killed", async () => {
  const folder = join(folderWith(), "store");
  await using store = await openStore(folder);
  const other = await holder(folder);
  await expect(store.lease("S1")).rejects.toMatchObject({
    code: "session_busy",
    message: expect.stringContaining(`process ${other.pid} on `),
  });
  await expect(store.remove("S1")).rejects.toMatchObject({ code: "session_busy" });
  expect(await store.find("S1")).toMatchObject({ busy: true, holder: { pid: other.pid }, last_seq: 1 });
  const rule = { now: 1e9, anonymousMs: 0, namedMs: 0, pi: true, dryRun: false };
  expect((await store.gc(rule)).sessions).toEqual([]);
  expect(await findingsIn(store)).toEqual([]);
  // Reading needs no lease.
  expect(await store.journal("S1")).toHaveLength(1);
  expect(await store.fork("S1", null, sessionOf("S2")).catch(({ code }) => code)).toBe("checkpoint_not_found");

  await other.kill();
  expect(await findingsIn(store)).toEqual([expect.stringContaining(`pid ${other.pid} `)]);
  expect(await store.find("S1")).toMatchObject({ busy: false });
  await store.lease("S1");
  await store.commit("S1", { records: [recordOf("E1", 6)] });
  expect(await store.journal("S1")).toHaveLength(2);
});

test("loading the folder of the store opens none of its files: to close one would free the lock of a session", async () => {
  const folder = folderWith({ "a.txt": "a" });
  const place = join(folder, "store");
  await using store = await openStore(place);
  await store.create(sessionOf("S1"));
  const { stats } = await load({ kind: "path", path: "." }, { roots: [folder], cwd: folder });
  const reason = "Belay keeps its own files there";
  const own = ["store/belay.db", "store/belay.db-shm", "store/belay.db-wal", "store/locks"];
  expect(stats).toMatchObject({ document_count: 1, skipped: { files: own.map((path) => ({ path, reason })) } });
  const script = `const { openStore } = await import(${JSON.stringify(THREAD)});
    const store = await openStore(${JSON.stringify(place)});
    console.log(await store.lease("S1").then(() => "taken", ({ code }) => code));`;
  const { stdout, code } = await run(process.execPath, ["script.mjs"], { cwd: folderWith({ "script.mjs": script }) });
  expect({ stdout, code }).toEqual({ stdout: "session_busy\n", code: 0 });
});

test("a session that was let go of is read again: another process may have written to it", async () => {
  const folder = join(folderWith(), "store");
  await using first = await openStore(folder);
  await using second = await openStore(folder);
  await first.create(sessionOf("S1"));
  await first.commit("S1", { records: [recordOf("E1", 5)], facts: { by: "first" } });
  await first.release("S1");
  await second.lease("S1");
  await second.commit("S1", { records: [recordOf("E1", 6)], facts: { by: "second" } });
  await second.release("S1");
  await first.lease("S1");
  await first.commit("S1", { records: [recordOf("E1", 7)] });
  expect(await first.find("S1")).toMatchObject({ last_seq: 3, facts: { by: "second" } });
  expect((await first.journal("S1")).map(({ record }) => record.at)).toEqual([5, 6, 7]);
  expect(await findingsIn(first)).toEqual([]);
});

test("a session whose row is gone is not written to, though this store has its lease", async () => {
  const folder = join(folderWith(), "store");
  await using store = await openStore(folder);
  await store.create(sessionOf("S1"));
  await store.commit("S1", { facts: { kept: true } });
  using edit = new DatabaseSync(join(folder, "belay.db"));
  edit.exec("DELETE FROM sessions");
  await expect(store.commit("S1", { facts: { kept: false } })).rejects.toMatchObject({ code: "session_not_found" });
});

test("looking at a session never makes it look held", async () => {
  const folder = join(folderWith(), "store");
  await using store = await openStore(folder);
  await using watcher = await openStore(folder);
  await store.create(sessionOf("S1"));
  await store.release("S1");
  for (let round = 0; round < 50; round += 1) {
    const looks = [listed(watcher), listed(watcher), listed(watcher)];
    await store.lease("S1");
    await Promise.all(looks);
    await store.release("S1");
  }
  expect(await watcher.find("S1")).toMatchObject({ busy: false });
});

test("stores that open a new folder at once agree on it", async () => {
  const folder = join(folderWith(), "store");
  const stores = await Promise.all([1, 2, 3].map(() => openStore(folder)));
  await Promise.all(stores.map((store, index) => store.create(sessionOf(`S${index}`))));
  expect(stores[0] && (await listed(stores[0]))).toHaveLength(3);
  await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
});

test("if two stores make a session of one name at once, one of them makes it", async () => {
  const folder = join(folderWith(), "store");
  const stores = await Promise.all([1, 2].map(() => openStore(folder)));
  const made = await Promise.allSettled(
    stores.map((store, index) => store.create(sessionOf(`S${index}`, { name: "one" }))),
  );
  const refused = made.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  expect(refused).toEqual([expect.objectContaining({ code: "session_exists" })]);
  expect(stores[0] && (await listed(stores[0]))).toHaveLength(1);
  await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
});

test("folders and files are their owner's alone, whatever the umask", async () => {
  const folder = join(folderWith(), "deep", "store");
  const script = `process.umask(0); const { openStore } = await import(${JSON.stringify(THREAD)});
    const store = await openStore(${JSON.stringify(folder)});
    await store.create({ id: "S1", name: null, origin: "library", settings: null, at: 1 });
    const { statSync, readdirSync } = await import("node:fs");
    const mode = (path) => (statSync(path).mode & 0o777).toString(8);
    const names = [".", ...readdirSync(${JSON.stringify(folder)}, { recursive: true })].sort();
    console.log(JSON.stringify(Object.fromEntries(names.map((name) => [name, mode(${JSON.stringify(`${folder}/`)} + name)]))));`;
  const { stdout, stderr, code } = await run(process.execPath, ["script.mjs"], {
    cwd: folderWith({ "script.mjs": script }),
  });
  expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
  expect(JSON.parse(stdout)).toEqual({
    ".": "700",
    "belay.db": "600",
    "belay.db-shm": "600",
    "belay.db-wal": "600",
    locks: "700",
    "locks/.store.db": "600",
    "locks/S1.db": "600",
  });
});

test("a process ends with its store open, but not before what it asked of it is done", async () => {
  const folder = join(folderWith(), "store");
  const script = `const { openStore } = await import(${JSON.stringify(THREAD)});
    const store = await openStore(${JSON.stringify(folder)});
    await store.create({ id: "S1", name: null, origin: "library", settings: null, at: 1 });
    store.commit("S1", { facts: { kept: true } }).then(() => console.log("kept"));`;
  const { stdout, code } = await run(process.execPath, ["script.mjs"], { cwd: folderWith({ "script.mjs": script }) });
  expect({ stdout, code }).toEqual({ stdout: "kept\n", code: 0 });
  await using store = await openStore(folder);
  expect(await store.find("S1")).toMatchObject({ facts: { kept: true }, busy: false });
});

test("a store of a later version is refused by name and left as it is", async () => {
  const folder = join(folderWith(), "store");
  await (await openStore(folder))[Symbol.asyncDispose]();
  const path = join(folder, "belay.db");
  const edit = new DatabaseSync(path);
  edit.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
  edit.close();
  const before = readFileSync(path);
  await expect(openStore(folder)).rejects.toMatchObject({
    code: "store_too_new",
    message: expect.stringMatching(
      new RegExp(`version ${SCHEMA_VERSION + 1}; this build reads versions up to ${SCHEMA_VERSION}$`),
    ),
  });
  expect(Buffer.compare(readFileSync(path), before)).toBe(0);
});

test("files of others are refused and left as they are", async () => {
  const folder = folderWith({
    "text/belay.db": "not a database, but a text of some length ".repeat(20),
    "foreign/": "",
  });
  const foreign = new DatabaseSync(join(folder, "foreign", "belay.db"));
  foreign.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
  foreign.close();
  for (const [name, code, cure] of [
    ["text", "store_corrupt", /^Put a whole copy of belay\.db there, or move it away/],
    ["foreign", "store_failed", /./],
  ] as const) {
    const path = join(folder, name, "belay.db");
    const before = readFileSync(path);
    const mode = statSync(path).mode;
    await expect(openStore(join(folder, name))).rejects.toMatchObject({
      ...{ code, suggestion: expect.stringMatching(cure) },
    });
    expect(Buffer.compare(readFileSync(path), before)).toBe(0);
    expect(statSync(path).mode).toBe(mode);
  }
});

test("a folder that cannot be made is named", async () => {
  const folder = folderWith({ file: "" });
  await expect(openStore(join(folder, "file", "store"))).rejects.toMatchObject({
    code: "store_failed",
    message: expect.stringContaining(join(folder, "file", "store")),
  });
});

test("words of pages that lie in a larger buffer are kept alone", async () => {
  await using store = await openStore(null);
  await store.create(sessionOf("S1"));
  const [whole] = pagesOf([1, 2, 3], 1);
  if (!whole) throw new Error("there are no pages");
  const numbers = roomy(whole.numbers);
  await store.commit("S1", { checkpoint: checkpointOf("C1", { pages: [{ numbers, changes: roomy(whole.changes) }] }) });
  expect(await store.checkpoint("C1")).toMatchObject({ pages: 3 });
  await store.commit("S1", { checkpoint: checkpointOf("C2", { pages: [whole] }) });
  expect((await store.image("C1")).memory).toEqual((await store.image("C2")).memory);
});

/** The same, in a larger buffer. */
function roomy(words: Uint32Array): Uint32Array {
  const more = new Uint32Array(words.length + 2);
  more.set(words, 1);
  return more.subarray(1, -1);
}

test("a context that was lost is put again, and its damaged part is mended", async () => {
  const folder = join(folderWith(), "store");
  const context = contextOf("some text ".repeat(100), "more");
  await using store = await openStore(folder);
  await store.putContext(context);
  const edit = new DatabaseSync(join(folder, "belay.db"));
  onTestFinished(() => edit.close());
  for (const damage of [
    "UPDATE chunks SET bytes = zeroblob(9)",
    "DELETE FROM parts",
    "UPDATE contexts SET parts = '[]'",
  ]) {
    edit.exec(damage);
    await expect(store.context(context.key)).rejects.toMatchObject({ code: "context_lost" });
    expect(await findingsIn(store)).not.toEqual([]);
    await store.putContext(context);
    expect((await store.context(context.key)).parts).toHaveLength(2);
  }
});

test("a damaged session can still be dropped, and the others be seen", async () => {
  const folder = join(folderWith(), "store");
  await using store = await openStore(folder);
  await store.create(sessionOf("S1"));
  await store.create(sessionOf("S2"));
  const edit = new DatabaseSync(join(folder, "belay.db"));
  onTestFinished(() => edit.close());
  edit.exec("UPDATE sessions SET facts = '{}' WHERE id = 'S1'");
  await expect(listed(store)).rejects.toMatchObject({ code: "store_corrupt", message: expect.stringContaining("S1") });
  await store.remove("S1");
  expect(await listed(store)).toHaveLength(1);
  expect(existsSync(join(folder, "locks", "S1.db"))).toBe(false);
});

const THREAD = new URL("../../../src/store/open.ts", import.meta.url).href;

test("two processes that keep the same texts at once do not harm them", async () => {
  const folder = join(folderWith(), "store");
  await using store = await openStore(folder);
  const other = spawn(process.execPath, [fileURLToPath(KEEPER), folder], { stdio: "inherit" });
  const ended = once(other, "exit");
  for (const text of TEXTS) await store.keepText(sha256(text), text, 5);
  expect(await ended).toEqual([0, null]);
  for (const text of TEXTS) expect(await store.cached(textKey(sha256(text)))).toBe(text);
  expect(await findingsIn(store)).toEqual([]);
});

test("a lease that is given back, or goes with its session, leaves nothing in the caller's thread", async () => {
  await using store = await openStore(null);
  const signals: WeakRef<AbortSignal>[] = [];
  for (let n = 0; n < 20; n++) {
    const [kept, gone] = [`KEPT-${n}`, `GONE-${n}`];
    for (const id of [kept, gone]) {
      const { lost } = await store.create({ ...sessionOf(id), name: null });
      signals.push(new WeakRef(lost));
    }
    await store.release(kept);
    await store.remove(gone);
  }
  setFlagsFromString("--expose-gc");
  // What a turn of the event loop has looked at stays until it is over.
  await setImmediate();
  runInNewContext("gc")();
  expect(signals.filter((signal) => signal.deref()).length).toBeLessThan(10);
});
