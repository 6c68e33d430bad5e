import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { keepContext } from "../../../src/session/contexts/contexts.ts";
import { storedContext } from "../../../src/session/index.ts";
import { findingsIn, type GcRule, openStore, type Store } from "../../../src/store/index.ts";
import { seal } from "../../../src/store/rows/row.ts";
import { textFile } from "../../support/converted.ts";
import { flipByte } from "../../support/flip-byte.ts";
import { largeContext } from "../../support/large-context.ts";
import { folderWith } from "../../support/tree.ts";
import { checkpointOf, pagesOf, recordOf, sessionOf } from "./sample.ts";
import { STORES, testOf } from "./stores.ts";

const FIRST = [textFile("a.txt", "first é\n"), textFile("b.txt", "second 😀\n")];
const APPENDED = [textFile("c.txt", "third\n")];
const RULE: GcRule = { now: 1000, anonymousMs: 1e9, namedMs: null, pi: false, dryRun: false };

/** A large context whose files lie in the store, and which the store has. */
async function keptIn(store: Store, loads = [FIRST, APPENDED]) {
  using _held = await store.texts?.hold();
  const context = await largeContext(loads, store.texts?.folder);
  await keepContext(store, context);
  return context;
}

/** A session whose journal names a context, and which can be forked. */
async function sessionWith(store: Store, id: string, context_key: string): Promise<void> {
  await store.create(sessionOf(id));
  const checkpoint = checkpointOf(`K${id}`, { pages: pagesOf([1], 1), kind: "end" });
  await store.commit(id, { checkpoint, records: [recordOf("E1", 5, { context_key })] });
  await store.release(id);
}

const textsIn = (store: Store) => readdirSync(store.texts?.folder ?? "");
const bytesIn = (store: Store) =>
  textsIn(store).reduce((sum, name) => sum + statSync(join(store.texts?.folder ?? "", name)).size, 0);

for (const kind of STORES) {
  const stored = testOf(kind);
  stored(`a store ${kind.kind} keeps large contexts in files, or refuses them by name`, async (store) => {
    if (store.texts === null) {
      await expect(keptIn(store)).rejects.toMatchObject({
        code: "context_too_large",
        suggestion: expect.stringContaining("Only a store in a folder keeps larger ones: name one as `store`."),
      });
      return;
    }
    const made = await keptIn(store);
    const { text, documents, ...rest } = await storedContext(store, made.key);
    expect(text.large).toBeDefined();
    expect(text.slice(0, text.length)).toBe(made.text.slice(0, made.text.length));
    expect([...documents]).toEqual([...made.documents]);
    const { text: _text, documents: _documents, ...expected } = made;
    expect(rest).toEqual(expected);
    text[Symbol.dispose]();
  });
}

test("a context whose files are missing, cut or replaced is lost, by name", async () => {
  await using store = await openStore(folderWith());
  const { key } = await keptIn(store);
  const folder = store.texts?.folder ?? "";
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    async function lost(problem: string): Promise<void> {
      const message = `context ${key}: ${path} ${problem}`;
      await expect(storedContext(store, key)).rejects.toMatchObject({ code: "context_lost", message });
      expect(await findingsIn(store)).toEqual([`text: ${path} ${problem}`]);
    }
    truncateSync(path, statSync(path).size - 1);
    await lost("was cut, or its end is damaged");
    rmSync(path);
    await lost("is missing");
    symlinkSync("/etc/passwd", path);
    await lost("is not a file");
    rmSync(path);
    writeFileSync(path, "");
    truncateSync(path, 2 ** 40);
    await lost("is larger than a context can be");
    rmSync(path);
    await keptIn(store);
    flipByte(path, 3);
    expect(await findingsIn(store)).toEqual([
      `text: ${path} is damaged in the 64 KB that begin at 0: opening its session reads the sources again, if they are unchanged`,
    ]);
    // It is known now without reading the page.
    await expect(storedContext(store, key)).rejects.toMatchObject({ message: `context ${key}: ${path} is damaged` });
    await keptIn(store);
  }
  expect(await findingsIn(store)).toEqual([]);
});

test("files go with the last session that needs them, with the index for search, though another session is open", async () => {
  const home = folderWith({ "index/other.index": "other" });
  vi.stubEnv("BELAY_HOME", home);
  await using store = await openStore(folderWith());
  const one = await keptIn(store);
  const two = await keptIn(store, [[textFile("d.txt", "fourth\n")]]);
  for (const { hash } of [one, two]) writeFileSync(join(home, "index", `${hash}-v1.index`), "index");
  await sessionWith(store, "S1", one.key);
  await sessionWith(store, "S2", two.key);
  await store.fork("S1", null, sessionOf("S3"));
  await store.lease("S2");
  const all = textsIn(store);
  const bytesOf = async (id: string) => (await store.find(id))?.text_bytes ?? 0;
  expect(await bytesOf("S1")).toBe(await bytesOf("S3"));
  expect((await bytesOf("S1")) + (await bytesOf("S2"))).toBe(bytesIn(store));
  expect(await store.remove("S1")).toEqual({ text_bytes: 0, texts_in_use: false });
  expect(textsIn(store)).toEqual(all);
  const before = bytesIn(store);
  const { text_bytes } = await store.remove("S3");
  expect(text_bytes).toBe(before - bytesIn(store) + "index".length);
  expect(readdirSync(join(home, "index")).sort()).toEqual([`${two.hash}-v1.index`, "other.index"].sort());
  expect(await store.hasContext(one.key)).toBe(false);
  expect((await storedContext(store, two.key)).text.slice(0, 30)).toBe(two.text.slice(0, 30));
  await store.remove("S2");
  expect([textsIn(store), readdirSync(join(home, "index"))]).toEqual([[], ["other.index"]]);
  expect(await findingsIn(store)).toEqual([]);
});

async function loader(place: string, step: "begun" | "files" | "kept") {
  const path = fileURLToPath(new URL("./text-loader.ts", import.meta.url));
  const child = spawn(process.execPath, [path, place, step], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [folder] = await once(child.stdout, "data");
  return {
    folder: String(folder).trim(),
    async kill() {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
  };
}

test.for(["begun", "files", "kept"] as const)("what a load makes stays until it is killed: %s", async (step) => {
  const place = folderWith();
  await using store = await openStore(place);
  const mine = await keptIn(store);
  await sessionWith(store, "S1", mine.key);
  await sessionWith(store, "S2", (await keptIn(store, [APPENDED])).key);
  const own = textsIn(store);
  const other = await loader(place, step);
  const all = textsIn(store);
  expect(all.length).toBeGreaterThan(own.length);
  expect(await store.gc(RULE)).toMatchObject({ texts: 0, texts_in_use: true });
  expect(await store.remove("S2")).toEqual({ text_bytes: 0, texts_in_use: true });
  expect(textsIn(store)).toEqual(all);

  await other.kill();
  const bytes = bytesIn(store);
  const dry = await store.gc({ ...RULE, dryRun: true });
  expect(dry).toMatchObject({ texts_in_use: false, contexts: step === "kept" ? 2 : 1 });
  expect(textsIn(store)).toEqual(all);
  const done = await store.gc(RULE);
  expect([done.texts, done.contexts]).toEqual([dry.texts, dry.contexts]);
  expect(dry.texts).toBe(all.length - textsIn(store).length);
  expect(dry.bytes).toBeGreaterThanOrEqual(bytes - bytesIn(store));
  const { text } = await storedContext(store, mine.key);
  expect(text.slice(0, text.length)).toBe(mine.text.slice(0, mine.text.length));
  expect(await findingsIn(store)).toEqual([]);
});

test("two that load equal bytes while a third one removes them: the context is lost, by name", async () => {
  await using store = await openStore(folderWith());
  const folder = store.texts?.folder ?? "";
  using _held = await store.texts?.hold();
  const context = await largeContext([FIRST], folder);
  rmSync(folder, { recursive: true });
  await expect(keepContext(store, context)).rejects.toMatchObject({ code: "context_lost" });
  expect(await store.hasContext(context.key)).toBe(false);
});

interface Forged {
  readonly parts: string[];
  readonly index: { readonly stats: object };
}

test("rows that another user made name no other files, and take no memory", async () => {
  const place = folderWith();
  await using store = await openStore(place);
  const { key } = await keptIn(store, [FIRST]);
  using database = new DatabaseSync(join(place, "belay.db"));
  const row = database.prepare("SELECT parts, facts FROM contexts").get();
  const forge = async (change: (row: Forged) => void) => {
    const forged = { parts: JSON.parse(String(row?.parts)), index: JSON.parse(String(row?.facts)) };
    change(forged);
    const [parts, facts] = [JSON.stringify(forged.parts), JSON.stringify(forged.index)];
    const sealed = seal([key, parts, facts]);
    database.prepare("UPDATE contexts SET parts = ?, facts = ?, sha256 = ?").run(parts, facts, sealed);
    return [await storedContext(store, key).catch(({ code, message }) => [code, message]), await findingsIn(store)];
  };
  const lost = (why: string) => [["context_lost", `context ${key}: ${why}`], [`context ${key}: ${why}`]];
  const noTable = lost("its table is not the last of its files");
  expect(await forge(({ parts }) => parts.splice(0, 1, "texts/../belay.db"))).toEqual(lost("its index is damaged"));
  expect(await forge(({ parts }) => parts.splice(0, 1, "/etc/passwd"))).toEqual(lost("its index is damaged"));
  expect(await forge(({ index }) => Object.assign(index, { documents: "../belay.db" }))).toEqual(
    lost("its index is damaged"),
  );
  expect(await forge(({ parts }) => parts.reverse())).toEqual(noTable);
  expect(await forge(({ parts }) => parts.shift())).toEqual(noTable);
  const many = Array<string>(600).fill(`texts/${"a".repeat(64)}`);
  expect(await forge(({ parts }) => parts.unshift(...many))).toEqual(lost("it has more parts than a context can have"));
  const ofAnother = ["context_lost", expect.stringContaining("is the table of another text")];
  expect(await forge(({ index }) => Object.assign(index.stats, { length_chars: 2 ** 52 }))).toEqual([ofAnother, []]);
  expect(await forge(({ parts }) => parts.unshift(parts[0] ?? ""))).toEqual([ofAnother, []]);
});

test("a large context can be appended to 500 times", async () => {
  await using store = await openStore(folderWith());
  const { key, hash, text, ...rest } = await keptIn(store, [FIRST]);
  const { data } = text;
  const [file] = "files" in data ? data.files : [];
  const appended = (count: number) => ({
    ...rest,
    ...{ key: "c".repeat(64), hash, text: { ...text, data: { ...data, files: Array(count + 1).fill(file) } } },
  });
  await expect(keepContext(store, appended(501))).rejects.toMatchObject({
    code: "context_too_large",
    message: "a large context can be appended to 500 times",
  });
  await keepContext(store, appended(500));
  expect((await store.context("c".repeat(64))).parts).toHaveLength(502);
  expect(await store.hasContext(key)).toBe(true);
});

test("files that are no texts of the store stay", async () => {
  const place = folderWith({ "texts/notes.txt": "mine", [`texts/${"a".repeat(64)}`]: "left" });
  await using store = await openStore(place);
  expect(await store.gc(RULE)).toMatchObject({ texts: 1, texts_in_use: false });
  expect(textsIn(store)).toEqual(["notes.txt"]);
});

test("the folder of texts is no link", async () => {
  const elsewhere = folderWith({ ["a".repeat(64)]: "not a text" });
  await using store = await openStore(folderWith({}, { texts: elsewhere }));
  await expect(keptIn(store)).rejects.toMatchObject({
    code: "store_failed",
    message: expect.stringContaining("is a link"),
  });
  await store.gc(RULE);
  expect(readdirSync(elsewhere)).toEqual(["a".repeat(64)]);
});

test("texts of a process that keeps nothing go with it, or with the next sweep after it was killed", async () => {
  const home = folderWith();
  vi.stubEnv("BELAY_HOME", home);
  await using store = await openStore(join(home, "store"));
  const other = await loader("memory", "files");
  expect(await store.gc(RULE)).toMatchObject({ texts: 0 });
  expect(readdirSync(other.folder)).toHaveLength(2);
  await other.kill();
  expect(await store.gc(RULE)).toMatchObject({ texts: 2 });
  expect([existsSync(other.folder), existsSync(`${other.folder}.db`)]).toEqual([false, false]);
  const own = await openStore(null);
  await keptIn(own);
  expect(textsIn(own)).toHaveLength(3);
  await own[Symbol.asyncDispose]();
  expect(readdirSync(join(home, "index"))).toEqual([]);
});
