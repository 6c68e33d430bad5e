import { mkdtempSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { SessionEvent } from "../../../../src/session/index.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import { findingsIn, openStore, type Store } from "../../../../src/store/index.ts";
import { flipByte } from "../../../support/flip-byte.ts";
import { lowerBorder } from "../../../support/low-border.ts";
import { folderWith, grow } from "../../../support/tree.ts";

/** One more than a small context has. */
const FILES = 101;
let source: string;
let raiseBorder: () => void;

beforeAll(() => {
  raiseBorder = lowerBorder(FILES - 1);
  source = realpathSync(mkdtempSync(join(tmpdir(), "belay-test-")));
  grow(source, Object.fromEntries(Array.from({ length: FILES }, (_, n) => [`${n}.txt`, `text ${n}\n`])));
});
afterAll(() => {
  rmSync(source, { recursive: true, force: true });
  raiseBorder();
});

async function loaded() {
  const store = await openStore(folderWith());
  onTestFinished(() => store[Symbol.asyncDispose]());
  const session = await openSessionWith(optionsOf("a"), { store });
  await session.load(source);
  const whole = await session.exec("P.slice(0, 40)");
  await session.close();
  return { store, begin: whole.success ? whole.result_json : null };
}

const optionsOf = (session: string, maxFiles = 2 * FILES) => ({ session, maxFiles, cwd: source, roots: [source] });

async function reopened(store: Store, options: ReturnType<typeof optionsOf>) {
  const notices: string[] = [];
  const onProgress = (event: SessionEvent) => void (event.kind === "notice" && notices.push(event.text));
  await using session = await openSessionWith({ ...options, onProgress }, { store });
  const stats = session.stats();
  const told = await session.exec("P.slice(0, 40)");
  return { notices, stats, begin: told.success ? told.result_json : told };
}

test("a lost or damaged file is made of the unchanged source again, within the limits of the session", async () => {
  const { store, begin } = await loaded();
  const folder = store.texts?.folder ?? "";
  const [one = "", two = ""] = readdirSync(folder);
  const path = join(folder, one);
  rmSync(path);
  await expect(reopened(store, optionsOf("a", FILES - 1))).rejects.toMatchObject({
    code: "context_lost",
    suggestion: expect.stringMatching(/^Allow so many with `maxFiles: \d+`: its text then takes/),
  });
  const { notices, begin: again } = await reopened(store, optionsOf("a"));
  expect(again).toBe(begin);
  expect(notices).toEqual([expect.stringMatching(`^context .* ${path} is missing; its sources were read again$`)]);
  flipByte(join(folder, two), 3);
  expect(await findingsIn(store)).toEqual([expect.stringContaining("opening its session reads the sources again")]);
  expect((await reopened(store, optionsOf("a"))).begin).toBe(begin);
  expect(await findingsIn(store)).toEqual([]);
  expect(readdirSync(folder).sort()).toEqual([one, two].sort());
});

test("if the source has changed the context is lost, and other pages of a damaged text are read", async () => {
  const { store, begin } = await loaded();
  const folder = store.texts?.folder ?? "";
  const path = readdirSync(folder).map((name) => join(folder, name))[0] ?? "";
  const own = join(source, "0.txt");
  onTestFinished(() => writeFileSync(own, "text 0\n"));
  writeFileSync(own, "another text\n");
  renameSync(path, `${path}.away`);
  await expect(reopened(store, optionsOf("a"))).rejects.toMatchObject({
    code: "context_lost",
    suggestion: "Restore these sources as they were, or load the context in another session.",
  });
  renameSync(`${path}.away`, path);
  expect(await reopened(store, optionsOf("a"))).toMatchObject({ notices: [], begin });
});

test("a fork and a child share the files, which stay as long as one of them needs them", async () => {
  const { store } = await loaded();
  const { id } = (await store.find("a")) ?? { id: "" };
  const all = readdirSync(store.texts?.folder ?? "");
  await store.fork(id, null, { id: "FORK", name: "f", origin: "library", settings: {}, at: 1 });
  await store.remove(id);
  expect(readdirSync(store.texts?.folder ?? "")).toEqual(all);
  expect((await reopened(store, optionsOf("f"))).stats?.document_count).toBe(FILES);
  const { text_bytes } = await store.remove("FORK");
  expect(text_bytes).toBeGreaterThan(0);
  expect(readdirSync(store.texts?.folder ?? "")).toEqual([]);
});

test("a load that would take more than three times the limit is refused, and leaves no file", async () => {
  const store = await openStore(folderWith());
  onTestFinished(() => store[Symbol.asyncDispose]());
  const own = join(source, "0.txt");
  onTestFinished(() => writeFileSync(own, "text 0\n"));
  await using session = await openSessionWith({ ...optionsOf("a"), maxContextMb: 1 }, { store });
  const texts = () => readdirSync(store.texts?.folder ?? "").sort();
  for (const letter of ["a", "b", "c"]) {
    writeFileSync(own, letter.repeat(900_000));
    await session.load(source);
  }
  const [all, stats] = [texts(), session.stats()];
  writeFileSync(own, "d".repeat(900_000));
  await expect(session.load(source)).rejects.toMatchObject({
    code: "context_too_large",
    message: expect.stringMatching(
      /^large contexts of session a would take \d\.\d MB of disk .* and may take 3\.0 MB$/,
    ),
  });
  expect([texts(), session.stats()]).toEqual([all, stats]);
});

test("files that have changed are told, and what is written to tell them goes", async () => {
  const { store } = await loaded();
  const own = join(source, "0.txt");
  onTestFinished(() => writeFileSync(own, "text 0\n"));
  const texts = () => readdirSync(store.texts?.folder ?? "").sort();
  const all = texts();
  for (const maxFiles of [2 * FILES, FILES]) {
    await using session = await openSessionWith(optionsOf("a", maxFiles), { store });
    expect(await session.changedFiles()).toEqual([]);
    writeFileSync(own, "changed\n");
    expect(await session.changedFiles()).toEqual([own]);
    writeFileSync(own, "text 0\n");
    expect(texts()).toEqual(all);
  }
});
