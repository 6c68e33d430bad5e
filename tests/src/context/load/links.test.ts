import { join } from "node:path";
import { expect, test } from "vitest";
import type { SmallContext } from "../../../../src/context/context.ts";
import { documentsNamed } from "../../../../src/context/load/documents-named.ts";
import { load } from "../../../../src/context/load/load.ts";
import { folderWith } from "../../../support/tree.ts";

const SKIPPED = "symlink to a file that is already loaded";
const idsOf = ({ documents }: SmallContext) => documents.map(({ id }) => id);

/** A repository in which a guide has two names, and a folder has a link to a file of another folder. */
function scene() {
  const folder = folderWith(
    { "repo/AGENTS.md": "needle guide", "repo/src/Main.ts": "needle main", "repo/a/own.ts": "own", "out/x.txt": "x" },
    { "repo/CLAUDE.md": "AGENTS.md", "repo/a/link.ts": "../src/Main.ts", linked: "repo" },
  );
  const options = { roots: [folder], cwd: join(folder, "repo") };
  const paths = (...named: string[]) => ({ kind: "paths", paths: named, folder: options.cwd }) as const;
  return { folder, options, paths };
}

test("a file that links lead to is one document under its real name, for every way to load", async () => {
  const { folder, options, paths } = scene();
  const whole = await load({ kind: "path", path: "." }, options);
  expect(idsOf(whole)).toEqual(["AGENTS.md", "a/own.ts", "src/Main.ts"]);
  expect(whole.stats.skipped).toMatchObject({ count: 2, unread: 0 });
  expect(whole.stats.skipped.files).toEqual([
    { path: "CLAUDE.md", reason: SKIPPED },
    { path: "a/link.ts", reason: SKIPPED },
  ]);
  expect(idsOf(await load(paths("."), options)).toSorted()).toEqual(idsOf(whole));
  // The folder of the link comes first, and its file is shown by the real path all the same.
  expect(idsOf(await load(paths("a", "src", "CLAUDE.md"), options))).toEqual(["src/Main.ts", "a/own.ts", "AGENTS.md"]);
  const through = await load({ kind: "path", path: join(folder, "linked") }, options);
  expect(through.documents.map(({ path }) => path)).toEqual(whole.documents.map(({ path }) => path));
  expect(through.stats.sources).toEqual([join(folder, "linked")]);
});

test("a glob finds a file by the name of a link to it, and a load again knows it", async () => {
  const { options, paths } = scene();
  const found = await load(paths("a/*.ts"), options);
  expect(idsOf(found)).toEqual(["src/Main.ts", "a/own.ts"]);
  const bounds = { most: 10, pause: async () => {} };
  expect(await documentsNamed(found.documents, paths("CLAUDE.md"), bounds)).toEqual({ count: 0, first: [] });
  const more = await load({ kind: "path", path: "CLAUDE.md" }, options, found);
  expect(idsOf(more)).toEqual(["src/Main.ts", "a/own.ts", "AGENTS.md"]);
  expect(more.stats.sources.at(-1)).toBe(join(options.cwd, "CLAUDE.md"));
  const again = await documentsNamed(more.documents, paths("CLAUDE.md", "*", "**/*.ts"), { ...bounds, most: 2 });
  expect([again.count, again.first.map(({ id }) => id)]).toEqual([3, ["AGENTS.md", "src/Main.ts"]]);
  expect(await load({ kind: "path", path: "AGENTS.md" }, options, more)).toBe(more);
  expect(await load(paths("a/link.ts", "src/Main.ts"), options, more)).toBe(more);
});

test("several links to a file elsewhere are one document, under the name of the first", async () => {
  const folder = folderWith(
    { "docs/a.txt": "a", "out/x.txt": "x" },
    { "docs/one.txt": "../out/x.txt", "docs/two.txt": "../out/x.txt" },
  );
  const options = { roots: [folder], cwd: folder };
  const { documents, stats } = await load({ kind: "path", path: "docs" }, options);
  expect(documents.map(({ id, path }) => [id, path])).toEqual([
    ["a.txt", join(folder, "docs/a.txt")],
    ["one.txt", join(folder, "out/x.txt")],
  ]);
  expect(stats.skipped.files).toEqual([{ path: "two.txt", reason: SKIPPED }]);
});
