import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SmallContext } from "../../../../src/context/context.ts";
import { load } from "../../../../src/context/load/load.ts";
import type { PathsSource } from "../../../../src/context/load/paths.ts";
import { folderWith } from "../../../support/tree.ts";

const SOURCES = { "src/one.ts": "1\n", "src/deep/two.ts": "2\n", "src/notes.md": "notes" };
const TREE = { ".gitignore": "out/\n", "a.txt": "alpha", ...SOURCES, "out/made.ts": "made" };

const idsOf = ({ documents }: SmallContext) => documents.map(({ id }) => id);
const textOf = ({ text }: SmallContext) => text.slice(0, text.length);

/** What is added to a context, or loaded as the first one. */
function added(folder: string, paths: readonly string[], before?: SmallContext, most: PathsSource["most"] = {}) {
  const source: PathsSource = { kind: "paths", paths, folder, most };
  const options = { roots: [folder], cwd: folder };
  return load(source, options, before);
}

test("files, folders and globs are loaded as one folder holds them, without what is ignored, each file once", async () => {
  const folder = folderWith(TREE);
  const context = await added(folder, ["src/notes.md", "**/*.ts", "src", join(folder, "a.txt")]);
  expect(idsOf(context)).toEqual(["src/notes.md", "src/deep/two.ts", "src/one.ts", "a.txt"]);
  expect(textOf(context).startsWith("\n===== src/notes.md =====\nnotes\n===== src/deep/two.ts =====\n2\n")).toBe(true);
  expect(context.documents.map((of) => context.text.slice(of.start, of.end))).toEqual(["notes", "2\n", "1\n", "alpha"]);
  expect(context.stats.sources).toEqual([`${folder}: src/notes.md, **/*.ts, src, ${folder}/a.txt`]);
  expect(idsOf(await added(folder, ["src/{one,deep/two}.ts"]))).toEqual(["src/deep/two.ts", "src/one.ts"]);
});

test("what P has is not added again unless it has changed, and then beside what it was", async () => {
  const folder = folderWith(TREE);
  const first = await added(folder, ["src/*.ts"]);
  expect(await added(folder, ["src/one.ts"], first)).toBe(first);
  writeFileSync(join(folder, "src/one.ts"), "one\n");
  const second = await added(folder, ["src/**"], first);
  expect(idsOf(second)).toEqual(["src/one.ts", "src/deep/two.ts", "src/notes.md", "src/one.ts~2"]);
  expect(textOf(second)).toContain(`\n\n===== APPENDED: ${folder} =====\n\n\n===== src/deep/two.ts =====\n2\n`);
  expect(second.parts.slice(0, 1)).toEqual(first.parts);
  expect(await added(folder, ["src"], second)).toBe(second);
});

test("the same bytes under another name are a document of their own", async () => {
  const folder = folderWith({ "a.txt": "alpha", "b.txt": "alpha" });
  expect(idsOf(await added(folder, ["b.txt"], await added(folder, ["a.txt"])))).toEqual(["a.txt", "b.txt"]);
});

test("a name with the signs of a glob is that file, if there is one", async () => {
  const folder = folderWith({ "[id].ts": "route", "i.ts": "i" });
  expect(idsOf(await added(folder, ["[id].ts"]))).toEqual(["[id].ts"]);
  expect(idsOf(await added(folder, ["[i].ts"]))).toEqual(["i.ts"]);
});

test.for([
  ["nothing.txt", "path_not_found", "nothing.txt does not exist"],
  ["src/*.rs", "path_not_found", "no file matches src/*.rs"],
  ["nowhere/*.ts", "path_not_found", "no file matches nowhere/*.ts"],
  ["../*", "path_outside_sandbox", "../* is outside the allowed roots"],
  ["away/*.txt", "path_outside_sandbox", "away/*.txt is outside the allowed roots"],
  ["data.bin", "invalid_argument", "data.bin cannot be loaded: binary"],
  ["src/[z-a].ts", "invalid_argument", "glob: "],
  ["", "invalid_argument", "a path has 1 to"],
] as const)("one bad path, %s, fails all of it and says why", async ([path, code, message]) => {
  const folder = folderWith({ ...TREE, "data.bin": "\0" }, { away: folderWith({ "secret.txt": "secret" }) });
  await expect(added(folder, ["a.txt", path])).rejects.toMatchObject({
    code,
    message: expect.stringContaining(message),
    suggestion: expect.stringMatching(/\w/),
  });
});

test("files that a glob finds and that are no text are skipped, and said", async () => {
  const folder = folderWith({ "a.txt": "alpha", "b.txt": "\0" });
  const { stats } = await added(folder, ["*.txt"]);
  expect(stats).toMatchObject({ document_count: 1, skipped: { count: 1, files: [{ path: "b.txt" }] } });
  await expect(added(folder, ["b*"])).rejects.toMatchObject({ code: "path_not_found" });
});

test("more files or bytes than may be added at once are refused; what P has does not count", async () => {
  const folder = folderWith(TREE);
  const refused = { code: "context_too_large", message: expect.stringContaining("would be added at once") };
  await expect(added(folder, ["src"], undefined, { files: 2 })).rejects.toMatchObject(refused);
  await expect(added(folder, ["src"], undefined, { bytes: 8 })).rejects.toMatchObject(refused);
  const some = await added(folder, ["src/notes.md"], undefined, { files: 1, bytes: 5 });
  expect(idsOf(await added(folder, ["src"], some, { files: 2, bytes: 4 }))).toHaveLength(3);
});
