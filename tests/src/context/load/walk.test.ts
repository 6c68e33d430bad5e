import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isRepository } from "../../../../src/context/load/gitignore.ts";
import { walk } from "../../../../src/context/load/walk.ts";
import { empty, folderWith, grow, type Tree } from "../../../support/tree.ts";

const NO_CONFIG = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
const GIT_ENVIRONMENT = { PATH: process.env.PATH, ...NO_CONFIG, HOME: "/nonexistent" };

/** Nested rule files against nested names, each case with what gave other implementations trouble. */
const RULE_CASES: Record<string, Tree> = {
  "no rules": { ...empty("a.txt", "b/c.txt", ".hidden") },
  "a folder is pruned and nothing in it comes back": {
    ".gitignore": "build/\n!build/keep.txt",
    ...empty("build/keep.txt", "a/build/x"),
  },
  "a nested negation": { ".gitignore": "*.log", "a/.gitignore": "!b.log", ...empty("a/b.log", "a/c.log", "b.log") },
  "a nested file re-includes a folder": { ".gitignore": "o/", "a/.gitignore": "!o/", ...empty("a/o/x", "b/o/x") },
  "a re-included folder's content": { ".gitignore": "/a/*\n!/a/b/", ...empty("a/x", "a/b/y", "a/b/c/z") },
  anchored: { ".gitignore": "/top\nsub/exact", ...empty("top", "sub/top", "sub/exact", "deep/sub/exact") },
  "a folder rule does not hit a file": { ".gitignore": "name/", ...empty("name", "a/name/x") },
  "a folder rule in a nested file holds at any depth": {
    "a/.gitignore": "gen/\n**/",
    ...empty("a/b/gen/x", "a/gen/x", "gen/x", "a/f"),
  },
  globstars: {
    ".gitignore": "**/gen\na/**/z\nlogs/**\n!logs/**/\n!logs/**/keep",
    ...empty("x/gen/f", "gen", "a/z", "a/b/c/z", "logs/keep", "logs/d/keep", "logs/d/drop"),
  },
  "two stars alone": { "d/.gitignore": "**", ...empty("d/x", "d/e/y", "z") },
  spaces: {
    ".gitignore": `trail${" ".repeat(200_000)}\nkept\\ \nin side\n   \n  lead\nlast\\\\\\${" ".repeat(50_000)}`,
    "last\\ ": "",
    ...empty("trail", "kept ", "kept", "in side", "  lead", "lead"),
  },
  escapes: { ".gitignore": "\\#hash\n\\!bang\n# no\ns\\*r\n\\a", ...empty("#hash", "!bang", " no", "s*r", "sar", "a") },
  unicode: { ".gitignore": "größe.txt\n日本/\n*.ü", ...empty("größe.txt", "日本/x", "b.ü", "c.u") },
  "a question mark is one byte": { ".gitignore": "x?y\nz??w", ...empty("xéy", "xay", "zéw") },
  classes: { ".gitignore": "[a-c].t\n[!d].md\n[[:digit:]]x\n[]]y", ...empty("a.t", "d.t", "d.md", "e.md", "5x", "]y") },
  "line ends and a byte order mark": { ".gitignore": "\ufeffa\r\nb\r\n\r\nthree", ...empty("a", "b", "three", "four") },
  "odd rules": { ".gitignore": "/\n//\n!\n\\\nfoo\\\n*/x", ...empty("a", "foo", "b/x", "b/c/x") },
  case: { ".gitignore": "README", ...empty("README", "readme") },
  "all but some": { ".gitignore": "*\n!*/\n!*.md", ...empty("a.txt", "a.md", "b/c.md", "b/c.txt") },
  "rules in a folder with special characters": {
    "[x]/.gitignore": "a\n/b",
    "s*r/.gitignore": "q",
    ...empty("[x]/a", "[x]/c/a", "[x]/b", "x/a", "s*r/q", "str/q"),
  },
  "line breaks in names": { ".gitignore": "*.log", ...empty("a\nb/c.log", "a\nb/c.txt") },
  "rules of a rule file": { ".gitignore": ".gitignore\nx", "a/.gitignore": "y", ...empty("a/x", "a/y", "a/z") },
};

test("a walk ends at its bound of entries, of which folders and files that are left out are some", async () => {
  const folder = folderWith({ ".gitignore": "*.log", ...empty("a/x", "a/y.log", "b/c/z") });
  const roots = [folder];
  const most = (mostEntries: number) => walk(roots, folder, async () => {}, { mostEntries });
  expect((await most(7)).files).toHaveLength(3);
  for (const mostEntries of [6, 4, 2]) {
    await expect(most(mostEntries)).rejects.toMatchObject({
      code: "context_too_large",
      message: `${folder} has more than ${mostEntries} entries`,
      suggestion: expect.stringMatching(/^Load a smaller folder, /),
    });
  }
});

test.each(Object.entries(RULE_CASES))("%s: as git", async (_, tree) => {
  const folder = repositoryWith(tree);
  expect(await walked(folder)).toEqual(gitFiles(folder));
});

test("random rules and trees: as git", async () => {
  const folder = repositoryWith({});
  await fc.assert(
    fc.asyncProperty(trees(), async (tree) => {
      grow(folder, tree);
      try {
        expect(await walked(folder)).toEqual(gitFiles(folder));
      } finally {
        for (const path of Object.keys(tree))
          rmSync(join(folder, path.replace(/\/.*/, "")), { recursive: true, force: true });
      }
    }),
    { numRuns: 25 },
  );
}, 120_000);

test("a folder inside a repository: rules above it and info/exclude hold", async () => {
  const folder = repositoryWith({
    ...{ ".gitignore": "*.log\n/p/q/drop", "p/.gitignore": "!keep.log", "p/q/keep.log": "", "p/q/a.log": "" },
    ...{ "p/q/drop": "", "p/q/private": "", "p/q/r/b": "" },
  });
  grow(folder, { ".git/info/exclude": "private\n" });
  expect(await walked(join(folder, "p/q"))).toEqual(["keep.log", "r/b"]);
  expect(await walked(join(folder, "p/q"))).toEqual(gitFiles(join(folder, "p/q")));
});

test("a folder that its repository ignores is walked when it is named", async () => {
  const folder = repositoryWith({
    ".gitignore": "dist/\n*.map",
    "dist/a.js": "",
    "dist/a.map": "",
    "dist/dist/b.js": "",
  });
  expect(await walked(join(folder, "dist"))).toEqual(["a.js"]);
});

test("rules above a folder hold only inside a repository", async () => {
  const folder = folderWith({ ".gitignore": "*.log", "a/x.log": "", "a/.gitignore": "y", "a/y": "" });
  expect(await walked(join(folder, "a"))).toEqual([".gitignore", "x.log"]);
});

test("a repository inside the folder has its own rules, and no .git is entered", async () => {
  const folder = repositoryWith({
    ...{ ".gitignore": "*.log", "inner/.git/config": "", "inner/.git/info/exclude": "secret", "inner/a.log": "" },
    ...{ "inner/secret": "", "module/.git": "gitdir: ../.git/modules/module", "module/b.log": "" },
  });
  expect(await walked(folder)).toEqual([".gitignore", "inner/a.log", "module/b.log"]);
});

test("a rule file that is a symlink or too large, and rules that are too long or cost too much, are reported and not applied", async () => {
  const folder = folderWith(
    {
      ...{ rules: "x", "a/x": "", "b/.gitignore": `x\n#${"-".repeat(256 * 1024)}`, "b/x": "" },
      ...{
        "c/.gitignore": `x\n**/a/**/b/**/c/**/d\n${"a/**/b/**/c/**/d\n".repeat(40)}${"A".repeat(70_000)}\ny`,
        "c/x": "",
        "c/y": "",
      },
    },
    { "a/.gitignore": "../rules" },
  );
  const { files, skipped } = await walk([folder], folder, async () => {});
  const names = Array.from(files, ({ relative }) => relative);
  expect(names.filter((name) => !name.endsWith(".gitignore"))).toEqual(["a/x", "b/x", "rules"]);
  expect(skipped).toEqual([
    { path: "a/.gitignore", reason: "its rules are not applied: it is a symlink" },
    { path: "a/.gitignore", reason: "symlink to a file that is already loaded" },
    { path: "b/.gitignore", reason: "its rules are not applied: larger than 256 KB" },
    {
      path: "c/.gitignore",
      reason: "3 of its rules are not applied: they are too long, or matching them could take too long",
    },
  ]);
});

test("symlinks: files and folders once, what leaves or loops is reported", async () => {
  const outside = folderWith({ "secret.txt": "", "sub/x": "" });
  const links = {
    ...{ file: "../real/a.txt", folder: "../real", "same-folder": "../real", c1: "../other/c", above: ".." },
    ...{ self: ".", out: outside, "out-file": join(outside, "secret.txt"), "out-missing": join(outside, "missing") },
    ...{ dangling: "nowhere", "loop-a": "loop-b", "loop-b": "loop-a", git: "../.git", proc: "/proc/self/environ" },
    zero: "/dev/zero",
  };
  const walkedLinks = Object.fromEntries(Object.entries(links).map(([path, target]) => [`walked/${path}`, target]));
  const folder = folderWith({ ...empty("real/a.txt", "other/c/d.txt", "walked/", ".git/config") }, walkedLinks);
  const { files, skipped } = await walk([folder], join(folder, "walked"), async () => {});
  expect([...files]).toEqual([
    { relative: "c1/d.txt", path: join(folder, "other/c/d.txt") },
    { relative: "folder/a.txt", path: join(folder, "real/a.txt"), links: ["file"] },
  ]);
  const leaves = "symlink that leaves the allowed roots";
  expect(Object.fromEntries(skipped.map(({ path, reason }) => [path, reason]))).toEqual({
    ...{ above: "symlink to a folder above it", dangling: "symlink that leads nowhere", git: "symlink into .git" },
    ...{ "loop-a": "symlink loop", "loop-b": "symlink loop", out: leaves, "out-file": leaves, "out-missing": leaves },
    ...{ proc: leaves, "same-folder": "symlink to a folder that is already loaded" },
    ...{ self: "symlink to a folder above it", zero: leaves, file: "symlink to a file that is already loaded" },
  });
});

test("a symlinked folder comes after the real ones, whatever the names", async () => {
  const folder = folderWith({ "z/x": "" }, { a: "z" });
  expect(await walked(folder)).toEqual(["z/x"]);
});

test("rules hold for links too, and what is ignored is counted, not reported", async () => {
  const folder = folderWith(
    { ".gitignore": "link*/\nfile\n*.fifo\nbuild", "elsewhere/x": "", "build/y": "" },
    { file: "/nowhere", link: "elsewhere" },
  );
  execFileSync("mkfifo", [join(folder, "a.fifo")]);
  const { files, skipped, ignored } = await walk([folder], folder, async () => {});
  expect(Array.from(files, ({ relative }) => relative)).toEqual([".gitignore", "elsewhere/x"]);
  expect(skipped).toEqual([{ path: "link", reason: "symlink to a folder that is already loaded" }]);
  expect(ignored).toBe(3);
});

test("FIFOs, and folders more than 128 levels deep, are reported", async () => {
  const folder = folderWith();
  execFileSync("mkfifo", [join(folder, "pipe")]);
  mkdirSync(join(folder, "d/".repeat(128)), { recursive: true });
  const { skipped } = await walk([folder], folder, async () => {});
  expect(skipped).toEqual([
    { path: expect.stringMatching(/^d(\/d){100,}$/), reason: "more than 128 folders deep" },
    { path: "pipe", reason: "FIFO" },
  ]);
});

test("sorted by code unit", async () => {
  const folder = folderWith({ b: "", B: "", "a/z": "", "a-b": "", "a.b": "", é: "", "\u{1f600}": "", "\uff5e": "" });
  expect(await walked(folder)).toEqual(["B", "a-b", "a.b", "a/z", "b", "é", "\u{1f600}", "\uff5e"]);
});

function repositoryWith(tree: Tree): string {
  const folder = folderWith(tree);
  execFileSync("git", ["init", "--quiet", folder], { env: GIT_ENVIRONMENT });
  return folder;
}

async function walked(folder: string): Promise<string[]> {
  const { files } = await walk([folder], folder, async () => {});
  return Array.from(files, ({ relative }) => relative);
}

function gitFiles(folder: string): string[] {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: folder,
    env: GIT_ENVIRONMENT,
  });
  return listed
    .toString()
    .split("\0")
    .filter((path) => path !== "")
    .sort();
}

/** Few names and many rules about them, so that most rules matter. Files and folders share no name. */
function trees(): fc.Arbitrary<Tree> {
  const folderName = fc.constantFrom("d", "e", "de", "d.e", "d e", "é", "[d]", "d*e");
  const fileName = fc.constantFrom("a", "b", "ab", "a.b", "a b", "ü", "[a]", "a*b", ".a");
  const folder = fc.array(folderName, { maxLength: 3 }).map((names) => names.map((name) => `${name}/`).join(""));
  const glob = fc.oneof(
    fc.constantFrom("d", "e", "a", "b", "a.b", "d e", "a b", "é", "ü"),
    fc.constantFrom(
      "*",
      "**",
      "***",
      "a*",
      "*b",
      "d*",
      "?",
      "??",
      "[abd]",
      "[!a]",
      "?.?",
      "\\[?]",
      "d\\*e",
      "*.*",
      "*[*]*",
    ),
  );
  const rule = fc
    .tuple(
      fc.constantFrom("", "", "!"),
      fc.constantFrom("", "", "/"),
      fc.array(glob, { minLength: 1, maxLength: 3 }),
      fc.constantFrom("", "", "/", " ", "\\ "),
    )
    .map(([sign, anchor, globs, end]) => `${sign}${anchor}${globs.join("/")}${end}`);
  const rules = fc.array(rule, { minLength: 1, maxLength: 5 }).map((lines) => lines.join("\n"));
  const files = fc.array(fc.tuple(folder, fileName, fc.constant("")), { maxLength: 15 });
  const ruleFiles = fc.array(fc.tuple(folder, fc.constant(".gitignore"), rules), { minLength: 1, maxLength: 4 });
  return fc
    .tuple(files, ruleFiles)
    .map((lists) => Object.fromEntries(lists.flat().map(([at, name, content]) => [at + name, content])));
}

test("a folder that cannot be looked into is the top of no repository", () => {
  const folder = folderWith({ "top/.git/HEAD": "" });
  const loop = join(folder, "loop");
  symlinkSync(loop, loop);
  expect([join(folder, "top"), folder, loop].map(isRepository)).toEqual([true, false, false]);
});
