import {
  linkSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Context } from "../../../../src/context/context.ts";
import { openKnownLoads } from "../../../../src/context/load/known-loads.ts";
import { knownLoad, load } from "../../../../src/context/load/load.ts";
import { folderWith, grow } from "../../../support/tree.ts";

const FILES = { "a.txt": "alpha\n", "src/b.txt": "beta\n", "src/AGENTS.md": "- [b](b.txt) — 2nd\n", "bin.dat": "\0" };
/** A clock that stands later than all the files' times, so that they count as old. */
const LATER_MS = 60_000;

/** A folder with files, a folder of records, and a store of contexts that counts what is opened. */
function scene(files: Readonly<Record<string, string>> = FILES) {
  const folder = folderWith(files);
  const dir = folderWith();
  const kept = new Map<string, Context>();
  const opened: string[] = [];
  const known = {
    loads: openKnownLoads(dir),
    now: () => Date.now() + LATER_MS,
    async open(hash: string) {
      const context = kept.get(hash) ?? null;
      if (context) opened.push(hash);
      return context;
    },
  };
  const options = { roots: [folder], cwd: folder, known };
  const source = { kind: "path", path: "." } as const;
  return {
    ...{ folder, dir, known, options, opened, kept },
    async load() {
      const context = await load(source, options);
      kept.set(context.key, context);
      return context;
    },
    /** As if nothing had been loaded before. */
    fresh: () => load(source, { roots: [folder], cwd: folder }),
  };
}

const plain = ({ text, ...facts }: Context) => ({ ...facts, P: text.slice(0, text.length) });

test("unchanged files are not read: the context comes from where it is kept", async () => {
  const { load, fresh, opened, kept } = scene();
  const first = await load();
  expect(opened).toEqual([]);
  const second = await load();
  expect(opened).toEqual([first.key]);
  expect(second).toBe(kept.get(first.key));
  expect(plain(second)).toEqual(plain(await fresh()));
});

/** What changes a folder, without changing its size where that is possible. */
const CHANGES: Readonly<Record<string, (folder: string) => void>> = {
  "a file of the same size": (folder) => writeFileSync(join(folder, "a.txt"), "gamma\n"),
  "a file of the same size whose time was set back": (folder) => {
    const path = join(folder, "a.txt");
    utimesSync(path, 1, 1);
    writeFileSync(path, "gamma\n");
    utimesSync(path, 1, 1);
  },
  "a file that was replaced": (folder) => {
    const replacement = join(folderWith(), "replacement");
    writeFileSync(replacement, "gamma\n");
    renameSync(replacement, join(folder, "a.txt"));
  },
  "a new file": (folder) => writeFileSync(join(folder, "src/c.txt"), "gamma\n"),
  "a new binary file, which is not in P": (folder) => writeFileSync(join(folder, "src/c.dat"), "\0"),
  "a file that is gone": (folder) => unlinkSync(join(folder, "a.txt")),
  "a file with another name": (folder) => renameSync(join(folder, "a.txt"), join(folder, "c.txt")),
  "an ignore file": (folder) => grow(folder, { ".gitignore": "b.txt\n" }),
  "a hard link to a file": (folder) => linkSync(join(folder, "a.txt"), join(folder, "c.txt")),
  "a link to a file": (folder) => symlinkSync("a.txt", join(folder, "c.txt")),
};

/** Until the file system's clock has moved on since the file was changed. */
function untilNextTick(path: string): void {
  const changed = statSync(path, { bigint: true }).ctimeNs;
  const probe = join(folderWith(), "probe");
  do writeFileSync(probe, "");
  while (statSync(probe, { bigint: true }).ctimeNs === changed);
}

test.each(Object.entries(CHANGES))("%s is seen", async (_, change) => {
  const { folder, load, fresh, opened } = scene();
  await load();
  untilNextTick(join(folder, "a.txt"));
  change(folder);
  expect(plain(await load())).toEqual(plain(await fresh()));
  expect(opened).toEqual([]);
  await load();
  expect(opened).toHaveLength(1);
});

test("a link that leads elsewhere is seen", async () => {
  const { folder, load, fresh } = scene({ "one.txt": "1", "two.txt": "2", ".gitignore": "one.txt\ntwo.txt\n" });
  symlinkSync("one.txt", join(folder, "link.txt"));
  await load();
  rmSync(join(folder, "link.txt"));
  symlinkSync("two.txt", join(folder, "link.txt"));
  expect(plain(await load())).toEqual(plain(await fresh()));
});

test("another encoding is another load", async () => {
  const { options, kept, load: loadHere, folder } = scene();
  await loadHere();
  const decoded = async (documents: { encoding?: string; lossy?: boolean }) => {
    const context = await load({ kind: "path", path: "." }, { ...options, documents });
    kept.set(context.key, context);
    return knownLoad(folder, null, { ...options, documents });
  };
  const keys = [await decoded({ encoding: "latin1" }), await decoded({ encoding: "gbk" }), await decoded({})];
  expect(new Set(keys.map((known) => known?.key)).size).toBe(3);
});

test("files that were changed just now are read again, since another change might not show", async () => {
  const { folder, options, known, kept, opened } = scene();
  const young = { ...options, known: { ...known, now: Date.now } };
  const context = await load({ kind: "path", path: "." }, young);
  kept.set(context.key, context);
  await load({ kind: "path", path: "." }, young);
  expect(opened).toEqual([]);
  expect(await knownLoad(folder, null, young)).toBeUndefined();
});

test("the same P from other files is another context, and what is appended to it is too", async () => {
  const [one, other] = [scene({ "a.txt": "same" }), scene({ "a.txt": "same" })];
  const [first, second] = [await one.load(), await other.load()];
  expect(second.hash).toBe(first.hash);
  expect(second.key).not.toBe(first.key);
  const more = { kind: "path", path: "more/b.txt" } as const;
  grow(one.folder, { "more/b.txt": "more" });
  const longer = await load(more, one.options, first);
  one.kept.set(longer.key, longer);
  const others = await load(more, one.options, second);
  expect([longer, others].map(({ stats }) => stats.sources)).toEqual([
    [one.folder, join(one.folder, "more/b.txt")],
    [other.folder, join(one.folder, "more/b.txt")],
  ]);
});

test("a record that is damaged, or a context that is gone, only means reading again", async () => {
  const { dir, load, fresh, opened, kept } = scene();
  const { hash } = await load();
  kept.clear();
  expect((await load()).hash).toBe(hash);
  for (const damage of ["", "{}", '{"format":2,"print":"","hash":"","key":"","sha256":""}']) {
    for (const name of readdirSync(dir)) writeFileSync(join(dir, name), damage);
    expect(plain(await load())).toEqual(plain(await fresh()));
  }
  expect(opened).toEqual([]);
});

test("a record opens no path outside the roots", async () => {
  const { folder, load: loadHere, known } = scene();
  await loadHere();
  const elsewhere = folderWith();
  await expect(
    load({ kind: "path", path: folder }, { roots: [elsewhere], cwd: elsewhere, known }),
  ).rejects.toMatchObject({ code: "path_outside_sandbox" });
});

test("an append is known too, on top of what it was made on", async () => {
  const { folder, options, opened, kept } = scene();
  grow(folder, { "other/b.txt": "b" });
  const first = await load({ kind: "path", path: "other" }, options);
  kept.set(first.key, first);
  const source = { kind: "path", path: "a.txt" } as const;
  const second = await load(source, options, first);
  kept.set(second.key, second);
  expect(await load(source, options, first)).toBe(second);
  expect(opened).toEqual([second.key]);
  const of = ({ hash, key }: Context) => ({ hash, key });
  expect(await knownLoad(join(folder, "other"), null, options)).toEqual(of(first));
  expect(await knownLoad("a.txt", first.key, options)).toEqual(of(second));
  expect(await knownLoad("a.txt", second.key, options)).toBeUndefined();
});

const none = async () => {
  throw new Error("the readers were looked up");
};

test("readers are looked up for a load of documents alone", async () => {
  const { known } = scene();
  const [texts, documents] = ["a".repeat(64), "b".repeat(64)];
  const load = { hash: "h", key: "k" };
  await known.loads.keep(texts, "print", load, "");
  await known.loads.keep(documents, "print", load, "pdf/1");
  expect(await known.loads.find(texts, "print", none)).toEqual(load);
  expect(await known.loads.find(documents, "print", async () => "pdf/1")).toEqual(load);
  expect(await known.loads.find(documents, "print", async () => "pdf/2")).toBeUndefined();
});

test("records do not pile up", async () => {
  const { dir, known } = scene();
  const key = (n: number) => n.toString(16).padStart(64, "0");
  for (let n = 0; n < 450; n++) await known.loads.keep(key(n), "print", { hash: "h", key: "k" }, "");
  expect(readdirSync(dir).length).toBeLessThanOrEqual(400);
  expect(await known.loads.find(key(449), "print", none)).toEqual({ hash: "h", key: "k" });
});
