import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SmallContext } from "../../../../src/context/context.ts";
import { load } from "../../../../src/context/load/load.ts";
import { folderWith, grow } from "../../../support/tree.ts";
import { tar, zip } from "../../documents/packed.ts";

const source = (path: string) => ({ kind: "path", path }) as const;
const told = ({ documents, text }: SmallContext) =>
  documents.map(({ id, start, end, replaced_by = null }) => [id, text.slice(start, end), replaced_by]);

test("what is appended again adds what is new or changed, and the older text of a changed file says so", async () => {
  const folder = folderWith({ "docs/a.txt": "a", "docs/b.txt": "b", "docs/sub/c.txt": "c" });
  const options = { roots: [folder], cwd: folder };
  const first = await load(source("docs"), options);
  expect(await load(source("docs"), options, first)).toBe(first);
  expect(await load(source("docs/b.txt"), options, first)).toBe(first);
  expect(first.stats).not.toHaveProperty("replaced");

  grow(folder, { "docs/b.txt": "B", "docs/d.txt": "d" });
  const second = await load(source("docs"), options, first);
  expect(told(second)).toEqual([
    ["a.txt", "a", null],
    ["b.txt", "b", "docs/b.txt"],
    ["sub/c.txt", "c", null],
    ["docs/b.txt", "B", null],
    ["d.txt", "d", null],
  ]);
  expect(second.stats).toMatchObject({
    document_count: 5,
    replaced: 1,
    sources: [join(folder, "docs"), join(folder, "docs")],
  });
  // The context below stays what it was.
  expect(first.documents.some((document) => "replaced_by" in document)).toBe(false);

  // An older text that comes back is newer again, and each text names the newest.
  writeFileSync(join(folder, "docs/b.txt"), "b");
  rmSync(join(folder, "docs/a.txt"));
  const third = await load({ kind: "paths", paths: ["docs"], folder }, options, second);
  expect(told(third).filter(([id]) => String(id).includes("b.txt"))).toEqual([
    ["b.txt", "b", "docs/b.txt~2"],
    ["docs/b.txt", "B", "docs/b.txt~2"],
    ["docs/b.txt~2", "b", null],
  ]);
  expect(third.stats.replaced).toBe(2);
});

test("a file that is deleted is told when its folder is appended again, until it is back", async () => {
  const folder = folderWith({
    "docs/a.txt": "a",
    "docs/b.txt": "b",
    "c.txt": "c",
    "docs/p.zip": zip([{ name: "x.txt", data: "x" }]),
  });
  const options = { roots: [folder], cwd: folder };
  const first = await load(source("docs"), options, await load(source("c.txt"), options));
  rmSync(join(folder, "c.txt"));
  rmSync(join(folder, "docs/b.txt"));
  rmSync(join(folder, "docs/p.zip"));
  const second = await load(source("docs"), options, first);
  expect(told(second)).toEqual(told(first));
  const reason = "deleted since it was loaded: its text stays in P";
  expect(second.stats.skipped).toEqual({
    count: 2,
    unread: 0,
    files: [
      { path: "b.txt", reason },
      { path: "p.zip/x.txt", reason },
    ],
    reasons: { "deleted since they were loaded": 2 },
  });
  expect(await load(source("docs"), options, second)).toBe(second);
  writeFileSync(join(folder, "docs/b.txt"), "b");
  const third = await load(source("docs"), options, second);
  expect(third.stats.skipped.files).toEqual([{ path: "p.zip/x.txt", reason }]);
  const all = await load({ kind: "paths", paths: ["docs/*.txt"], folder }, options, third);
  expect(all.stats.skipped.files.map(({ path }) => path)).toContain("c.txt");
});

test("a member that vanished from its archive is told when that is appended again", async () => {
  const both = zip([
    { name: "a.txt", data: "a" },
    { name: "b.txt", data: "b" },
  ]);
  const folder = folderWith({ "docs/p.zip": both, "docs/q.zip": both, "docs/c.txt": "c", ".gitignore": "" });
  const options = { roots: [folder], cwd: folder };
  const reason = "deleted since it was loaded: its text stays in P";
  const one = zip([{ name: "a.txt", data: "a" }]);
  const first = await load(source("docs/p.zip"), options, await load(source("docs/c.txt"), options));
  rmSync(join(folder, "docs/c.txt"));
  expect(await load(source("docs/p.zip"), options, first)).toBe(first);
  writeFileSync(join(folder, "docs/p.zip"), one);
  const second = await load(source("docs/p.zip"), options, first);
  expect(told(second)).toEqual(told(first));
  expect(second.stats.skipped.files).toEqual([{ path: "p.zip/b.txt", reason }]);

  const all = await load(source("docs"), options);
  writeFileSync(join(folder, "docs/q.zip"), one);
  const next = await load(source("docs"), options, second);
  expect(next.stats.skipped.files).toContainEqual({ path: "p.zip/b.txt", reason });
  expect(next.stats.skipped.files).toContainEqual({ path: "c.txt", reason });
  const third = await load(source("docs"), options, all);
  expect(third.stats.skipped.files).toEqual([{ path: "q.zip/b.txt", reason }]);
  expect(await load(source("docs"), options, third)).toBe(third);
});

test("a member that is ignored or may be behind a cut is not told as deleted", async () => {
  const names = ["a.txt", "b.txt"].map((name) => ({ name, data: name }));
  const folder = folderWith({ "docs/p.zip": zip(names), "docs/q.tar": tar(names), "docs/.git/HEAD": "" });
  const options = { roots: [folder], cwd: folder };
  const first = await load(source("docs"), options);
  writeFileSync(join(folder, "docs/.gitignore"), "p.zip/b.txt\n");
  writeFileSync(join(folder, "docs/q.tar"), tar(names).subarray(0, 1024 + 512));
  const second = await load(source("docs"), options, first);
  expect(second.stats.skipped.files).toEqual([{ path: "q.tar/b.txt", reason: "the archive ends too early" }]);
});

test("files that are in the context need no room in it, and a limit that is met counts them once", async () => {
  const folder = folderWith({ "docs/a.txt": "a".repeat(600), "docs/b.txt": "b" });
  const options = { roots: [folder], cwd: folder, most: { files: 3, bytes: 1000 } };
  const first = await load(source("docs"), options);
  expect(await load(source("docs"), options, first)).toBe(first);
  writeFileSync(join(folder, "docs/a.txt"), "A".repeat(600));
  await expect(load(source("docs"), options, first)).rejects.toMatchObject({
    message: expect.stringMatching(/^docs makes the context too large: 1,\d{3} bytes > 1,000 bytes$/),
  });
  const small = { ...options, most: { files: 3, bytes: 1_000_000 } };
  const twice = await load(source("docs"), small, first);
  grow(folder, { "docs/0.txt": "0" });
  const message = "docs makes the context too large: 4 files (limit 3)";
  await expect(load(source("docs"), small, twice)).rejects.toMatchObject({ message });
});

test("a text at hand is appended each time, and an archive by its members", async () => {
  const folder = folderWith({ "all.zip": zip([{ name: "x.txt", data: "x" }]) });
  const options = { roots: [folder], cwd: folder };
  const text = { kind: "text", text: "note", name: "note" } as const;
  const twice = await load(text, options, await load(text, options));
  expect(told(twice)).toEqual([
    ["note", "note", null],
    ["note/note", "note", null],
  ]);
  const first = await load(source("all.zip"), options);
  expect(await load(source("all.zip"), options, first)).toBe(first);
  const members = [
    { name: "x.txt", data: "X" },
    { name: "y.txt", data: "y" },
  ];
  writeFileSync(join(folder, "all.zip"), zip(members));
  expect(told(await load(source("all.zip"), options, first)).map(([, words, by]) => [words, by !== null])).toEqual([
    ["x", true],
    ["X", false],
    ["y", false],
  ]);
});
