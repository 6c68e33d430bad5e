import { execFileSync } from "node:child_process";
import { chmodSync, linkSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { readOnlyTools } from "../../../../src/models/agent-tools/index.ts";
import { refusal, text } from "../../../support/agent-tools.ts";
import { folderWith } from "../../../support/tree.ts";

/** More than are ever shown. 100,000 take 0.4 s to list, and seconds to make. */
const ENTRIES = 12_000;

test("list_dir: entries of one folder by name, with sizes; folders end in /", async () => {
  const folder = folderWith({
    "b.txt": "12345",
    "a/deep/x": "",
    "empty/": "",
    ".hidden": "h",
    "big.md": "x".repeat(3000),
  });
  const top = ".hidden (1B)\na/\nb.txt (5B)\nbig.md (2.9KB)\nempty/";
  expect(await text("list_dir", folder, {})).toBe(top);
  expect(await text("list_dir", folder, { path: "." })).toBe(top);
  expect(await text("list_dir", folder, { path: "a" })).toBe("deep/");
  expect(await text("list_dir", folder, { path: join(folder, "a/deep") })).toBe("x (0B)");
  expect(await text("list_dir", folder, { path: "empty" })).toBe("The folder has no entries to show");
  expect(await refusal("list_dir", folder, { path: "b.txt" })).toBe("b.txt is a file: read it with read_file");
  expect(await refusal("list_dir", folder, { path: "gone" })).toBe("gone does not exist");
});

test("list_dir: of several roots each is an entry, by the path that the tools take again", async () => {
  const one = folderWith({ "a.txt": "one" });
  const two = folderWith({ "b.txt": "two", "other.txt": "hidden" });
  const readable = { roots: [one, join(two, "b.txt")], cwd: "/" };
  expect(await text("list_dir", readable, {})).toBe(`${one}/\n${join(two, "b.txt")} (3B)`);
  expect(await text("list_dir", readable, { path: one })).toBe("a.txt (3B)");
  expect(await refusal("list_dir", readable, { path: two })).toBe(`${two} is outside the allowed roots`);
});

test("list_dir: nothing outside of the roots is listed or told of, and symlinks within them are marked", async () => {
  const outside = folderWith({ secret: "key", "folder/x": "" });
  const folder = folderWith(
    { "docs/x": "text", ".git/config": "c" },
    {
      ...{ "to-file": join(outside, "secret"), "to-folder": join(outside, "folder") },
      ...{ "to-nothing": join(outside, "nothing"), "to-proc": "/proc/self", "to-git": ".git", loop: "loop" },
      ...{ "x-link": "docs/x", here: "." },
    },
  );
  const shown = "docs/\nhere/ (symlink)\nx-link (4B, symlink)";
  expect(await text("list_dir", folder, {})).toBe(
    `${shown}\n\n[7 more left out: excluded by .gitignore, or not readable here]`,
  );
  expect(await text("list_dir", folder, { path: "here" })).toContain(shown);
  const sandbox = ["to-file", "to-folder", "to-nothing", "..", `../${basename(outside)}`, outside, "/", "docs/../.."];
  for (const path of sandbox) {
    expect(await refusal("list_dir", folder, { path })).toBe(`${path} is outside the allowed roots`);
  }
  for (const path of ["to-proc", "/proc", "/dev"]) {
    expect(await refusal("list_dir", folder, { path })).toContain("/proc, /sys and /dev are always refused");
  }
  for (const path of [".git", "to-git"]) expect(await refusal("list_dir", folder, { path })).toContain("is left out");
});

test("list_dir: what .gitignore excludes is left out, as it is from glob", async () => {
  const folder = folderWith({
    ...{ ".gitignore": ".env\nbuild/\n*.log\n!keep.log\n", ".env": "KEY", "build/out.txt": "", "a.log": "" },
    ...{ "keep.log": "", "sub/.gitignore": "/only-here\n", "sub/only-here": "", "sub/b.log": "" },
    ...{ "sub/deep/only-here": "", "other/.git/HEAD": "", "other/c.log": "" },
  });
  expect(await text("list_dir", folder, {})).toBe(
    ".gitignore (28B)\nkeep.log (0B)\nother/\nsub/\n\n[3 more left out: excluded by .gitignore, or not readable here]",
  );
  expect(await text("list_dir", folder, { path: "sub" })).toContain(".gitignore (11B)\ndeep/\n\n[2 more");
  expect(await text("list_dir", folder, { path: "sub/deep" })).toBe("only-here (0B)");
  expect(await text("list_dir", folder, { path: "other" })).toContain("c.log (0B)\n\n[1 more");
  expect(await refusal("list_dir", folder, { path: "build" })).toContain("is left out: .gitignore excludes it");
  const inside = { roots: [folder, join(folder, "build")], cwd: folder };
  expect(await text("list_dir", inside, { path: "build" })).toBe("out.txt (0B)");
  expect(await text("list_dir", inside, { path: folder })).toContain("build/\nkeep.log");
});

test("list_dir: FIFOs and unreadable folders are left out, and a name cannot pass for two entries", async () => {
  const folder = folderWith({ "a\nb (1B)": "x", "closed/x": "" });
  execFileSync("mkfifo", [join(folder, "fifo")]);
  expect(await text("list_dir", folder, {})).toBe(
    '"a\\nb (1B)" (1B)\nclosed/\n\n[1 more left out: excluded by .gitignore, or not readable here]',
  );
  chmodSync(join(folder, "closed"), 0);
  const isRoot = process.getuid?.() === 0;
  const closed = isRoot
    ? text("list_dir", folder, { path: "closed" })
    : refusal("list_dir", folder, { path: "closed" });
  expect(await closed).toBe(isRoot ? "x (0B)" : "the folder cannot be listed: cannot be read (EACCES)");
});

test("list_dir: of very many entries the first 500, or as many as fit into 50 KB", async () => {
  const folder = folderWith({ ".gitignore": "*.tmp\n", "000000": "" });
  const name = (number: number) => join(folder, `${number}`.padStart(6, "0"));
  for (let number = 1; number < ENTRIES - 1; number++) linkSync(name(0), name(number));
  const usual = (await text("list_dir", folder, {})).split("\n");
  expect(usual.slice(0, 2)).toEqual([".gitignore (6B)", "000000 (0B)"]);
  expect(usual).toHaveLength(502);
  expect(usual.at(-1)).toBe(`[The first 500 of ${ENTRIES} entries. Use limit=1000 for more, or glob for a part]`);
  const most = await text("list_dir", folder, { limit: 1e9 });
  expect(Buffer.byteLength(most)).toBeLessThan(51_500);
  expect(most).toMatch(/\n\n\[The first 4266 of 12000 entries \(50\.0KB limit\)\. Use glob for a part of them\]$/);
});

test("list_dir: an abort ends a listing", async () => {
  const folder = folderWith({ a: "x" });
  const tool = readOnlyTools({ roots: [folder], cwd: folder }).find(({ name }) => name === "list_dir");
  await expect(tool?.run({}, AbortSignal.abort())).rejects.toThrow("aborted");
});
