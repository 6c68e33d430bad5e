import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Json } from "../../../../runtime/index.ts";
import { matchGlob } from "../../../../src/context/index.ts";
import { readOnlyTools } from "../../../../src/models/agent-tools/index.ts";
import { refusal, text } from "../../../support/agent-tools.ts";
import { folderWith } from "../../../support/tree.ts";
import { ORIGINALS } from "../../documents/originals.ts";
import { zip } from "../../documents/packed.ts";

const MAX_BYTES = 51_200;

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`);

test("all tools are read-only, with a JSON Schema of their parameters", () => {
  const tools = readOnlyTools({ roots: ["."], cwd: "/" });
  expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
  for (const { name, sideEffects, parameters } of tools) {
    expect(sideEffects, name).toBe(false);
    expect(parameters, name).toMatchObject({ type: "object", additionalProperties: false });
  }
});

test("arguments of a wrong type are refused by name", async () => {
  const folder = folderWith({ a: "x" });
  expect(await refusal("read_file", folder, { path: 5 })).toContain("/path is integer, must be string");
  expect(await refusal("read_file", folder, {})).toContain('lacks "path"');
  expect(await refusal("grep", folder, { pattern: "x", ignoreCase: true })).toContain("/ignoreCase is not allowed");
  expect(await refusal("glob", folder, { pattern: "*", limit: 0 })).toContain("below 1");
});

test("read_file: the whole file, parts of it, and what lies beyond it", async () => {
  const folder = folderWith({ "src/a.txt": `${numbered(10).join("\n")}\n`, empty: "", mark: "\ufeffx" });
  expect(await text("read_file", folder, { path: "src/a.txt" })).toBe(numbered(10).join("\n"));
  expect(await text("read_file", folder, { path: join(folder, "src/a.txt"), offset: 9 })).toBe("line 9\nline 10");
  expect(await text("read_file", folder, { path: `"file://${join(folder, "src/a.txt")}"`, offset: 10 })).toBe(
    "line 10",
  );
  expect(await text("read_file", folder, { path: "./src/../src/a.txt", offset: 2, limit: 2 })).toBe(
    "line 2\nline 3\n\n[Showing lines 2-3 of 10. Use offset=4 to continue]",
  );
  expect(await text("read_file", folder, { path: "empty" })).toBe("[The file is empty]");
  expect(await text("read_file", folder, { path: "mark" })).toBe("x");
  expect(await refusal("read_file", folder, { path: "src/a.txt", offset: 11 })).toContain("(10 lines)");
  expect(await refusal("read_file", folder, { path: "src" })).toBe("src is a folder: list it with list_dir");
  expect(await refusal("read_file", folder, { path: "src/b.txt" })).toBe("src/b.txt does not exist");
});

test("read_file: 2000 lines or 50 KB, never a part of a line, and how to go on", async () => {
  const wide = "é".repeat(500);
  const folder = folderWith({
    long: numbered(5000).join("\n"),
    wide: Array.from({ length: 200 }, () => wide).join("\n"),
    single: `a\n${"x".repeat(MAX_BYTES + 1)}\nb`,
    exact: "x".repeat(MAX_BYTES),
  });
  const long = await text("read_file", folder, { path: "long" });
  expect(long.split("\n").slice(0, 2000)).toEqual(numbered(2000));
  expect(long).toMatch(/\[Showing lines 1-2000 of 5000\. Use offset=2001 to continue\]$/);
  const bytes = await text("read_file", folder, { path: "wide" });
  const lines = bytes.split("\n").filter((line) => line.startsWith("é"));
  expect(lines).toEqual(Array.from({ length: 51 }, () => wide));
  expect(bytes).toMatch(/\[Showing lines 1-51 of 200 \(50\.0KB limit\)\. Use offset=52 to continue\]$/);
  expect(await text("read_file", folder, { path: "single", offset: 2 })).toBe(
    "[Line 2 has 50.0KB, more than 50.0KB: grep shows the text around a match; offset=3 continues after it]",
  );
  expect(await text("read_file", folder, { path: "exact" })).toHaveLength(MAX_BYTES);
});

test("nothing outside of the roots can be reached, and the answer does not tell whether it exists", async () => {
  const outside = folderWith({ secret: "key" });
  const folder = folderWith(
    { "a/x": "text" },
    { "file-link": join(outside, "secret"), "folder-link": outside, environ: "/proc/self/environ" },
  );
  const above = [`../${basename(outside)}/secret`, `../${basename(outside)}/nothing`, "a/../../x"];
  const paths = [...above, join(outside, "secret"), "file-link", "folder-link/secret", "/etc/passwd"];
  for (const path of paths) {
    expect(await refusal("read_file", folder, { path })).toBe(`${path} is outside the allowed roots`);
    expect(await refusal("grep", folder, { pattern: ".", path })).toBe(`${path} is outside the allowed roots`);
    expect(await refusal("glob", folder, { pattern: "*", path })).toBe(`${path} is outside the allowed roots`);
  }
  for (const path of ["/proc/self/environ", "/dev/stdin", "environ"]) {
    expect(await refusal("read_file", folder, { path })).toContain("/proc, /sys and /dev are always refused");
  }
  expect(await refusal("read_file", folder, { path: "a\0b" })).toContain("no NUL");
  expect(await text("glob", folder, { pattern: "*" })).toBe("a/\na/x");
  expect(await text("grep", folder, { pattern: "key|text" })).toBe("a/x:1: text");
});

test("a symlink within the roots is followed", async () => {
  const folder = folderWith({ "a/x": "text" }, { link: "a/x" });
  expect(await text("read_file", folder, { path: "link" })).toBe("text");
});

test("what the loader would skip is refused: ignored, in .git, binary, not UTF-8, more than 10 MB", async () => {
  const folder = folderWith({
    ...{ ".gitignore": ".env\nbuild/\n", ".env": "KEY=needle", ".git/config": "needle", "build/out.txt": "needle" },
    ...{ "sub/.gitignore": "*.log", "sub/x.log": "needle", "sub/x.txt": "needle", "binary.dat": "needle\0" },
    ...{ "latin1.txt": Buffer.from("needle \xe9", "latin1"), "huge.txt": `needle${"x".repeat(10 * 1024 * 1024)}` },
  });
  for (const path of [".env", ".git/config", "build/out.txt", "build", "sub/x.log", "sub/../.env"]) {
    expect(await refusal("read_file", folder, { path })).toContain("is left out: .gitignore excludes it");
    expect(await refusal("grep", folder, { pattern: "needle", path })).toContain("is left out");
  }
  for (const [path, reason] of Object.entries({
    "binary.dat": "binary",
    "latin1.txt": "not UTF-8",
    "huge.txt": "10,485,766 bytes > 10,485,760 bytes",
  })) {
    expect(await refusal("read_file", folder, { path })).toContain(`${path} cannot be read: ${reason}`);
    expect(await refusal("grep", folder, { pattern: "needle", path })).toContain(reason);
  }
  expect(await text("grep", folder, { pattern: "needle" })).toBe("sub/x.txt:1: needle");
  expect(await text("grep", folder, { pattern: "needle", path: "sub" })).toBe("sub/x.txt:1: needle");
  expect(await text("glob", folder, { pattern: "*.{txt,log}" })).toBe("huge.txt\nlatin1.txt\nsub/x.txt");
});

test("rules above a named folder hold in it also without a repository", async () => {
  const folder = folderWith({ ".gitignore": "*.log", "a/b/x.log": "1", "a/b/x.txt": "2" });
  expect(await text("glob", folder, { pattern: "*", path: "a/b" })).toBe("a/b/x.txt");
  expect(await refusal("read_file", folder, { path: "a/b/x.log" })).toContain("is left out");
  expect(await text("read_file", join(folder, "a"), { path: "b/x.log" })).toBe("1");
});

test("several roots: relative paths are looked for in each, files and missing folders among them", async () => {
  const one = folderWith({ "a.txt": "one", "same.txt": "first" });
  const two = folderWith({ "b.txt": "two", "same.txt": "second", "other.txt": "hidden" });
  const readable = { roots: [one, join(two, "b.txt")], cwd: "/" };
  expect(await text("read_file", readable, { path: "a.txt" })).toBe("one");
  expect(await text("read_file", readable, { path: "b.txt" })).toBe("two");
  expect(await text("read_file", readable, { path: "same.txt" })).toBe("first");
  expect(await refusal("read_file", readable, { path: join(two, "other.txt") })).toContain("outside the allowed roots");
  expect(await text("glob", readable, { pattern: "*" })).toBe(`a.txt\nsame.txt\n${join(two, "b.txt")}`);
  const nested = { roots: [one, one], cwd: one };
  expect(await text("grep", nested, { pattern: "one" })).toBe("a.txt:1: one");
  const gone = join(one, "gone");
  mkdirSync(gone);
  const readableGone = { roots: [gone], cwd: one };
  expect(await text("glob", readableGone, { pattern: "*" })).toBe("No files found matching pattern");
  rmSync(gone, { recursive: true });
  expect(await refusal("glob", readableGone, { pattern: "*" })).toContain("does not exist");
  const readableLeft = { roots: [gone, two], cwd: one };
  expect(await text("glob", readableLeft, { pattern: "b*" })).toBe("b.txt");
  expect(await text("read_file", readableLeft, { path: "b.txt" })).toBe("two");
  expect(await text("list_dir", readableLeft, {})).toContain("other.txt");
});

test("glob: patterns as Pi's find takes them", async () => {
  const names = ["a.ts", "a.js", "src/a.ts", "src/deep/b.ts", "src/deep/c[1].md", ".hidden/x.ts", "lib/src/a.ts"];
  const folder = folderWith(Object.fromEntries(names.map((name) => [name, ""])));
  const found = async (pattern: string, path?: string) =>
    (await text("glob", folder, path === undefined ? { pattern } : { pattern, path })).split("\n");
  expect(await found("*.ts")).toEqual([".hidden/x.ts", "a.ts", "lib/src/a.ts", "src/a.ts", "src/deep/b.ts"]);
  expect(await found("/*")).toEqual([".hidden/", "a.js", "a.ts", "lib/", "src/"]);
  expect(await found("./*.ts")).toEqual(["a.ts"]);
  expect(await found("src/**/*.ts")).toEqual(["lib/src/a.ts", "src/a.ts", "src/deep/b.ts"]);
  expect(await found("/src/**")).toEqual(["src/a.ts", "src/deep/", "src/deep/b.ts", "src/deep/c[1].md"]);
  expect(await found("a.{ts,js}")).toEqual(["a.js", "a.ts", "lib/src/a.ts", "src/a.ts"]);
  expect(await found("[!a].ts")).toEqual([".hidden/x.ts", "src/deep/b.ts"]);
  expect(await found("c\\[?\\].md")).toEqual(["src/deep/c[1].md"]);
  expect(await found("b.ts", "src")).toEqual(["src/deep/b.ts"]);
  expect(await found("nothing*")).toEqual(["No files found matching pattern"]);
  expect(await refusal("glob", folder, { pattern: "[z-a]" })).toContain("glob: ");
});

test("glob: every path matches itself, its escaped form and its folders with **", () => {
  const name = fc.string({ minLength: 1, maxLength: 6, unit: fc.constantFrom(..."ab.*?[]{},!^-\\&~é".split("")) });
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (names) => {
      const path = names.join("/");
      const literal = `/${path.replace(/[\\*?[\]{},]/g, "\\$&")}`;
      expect(matchGlob(literal, [path, `${path}x`, `x/${path}`])).toEqual([true, false, false]);
      expect(matchGlob("**", [path])).toEqual([true]);
      expect(matchGlob(names.map(() => "*").join("/"), [path])).toEqual([true]);
    }),
  );
});

test("glob: the limit and the 50 KB, with notes", async () => {
  const folder = folderWith();
  for (let number = 0; number < 1100; number++) writeFileSync(join(folder, `${number}`.padStart(100, "0")), "");
  const some = await text("glob", folder, { pattern: "*", limit: 3 });
  expect(some.split("\n")).toHaveLength(5);
  expect(some).toContain("[3 of 1100 results. Use limit=6 for more, or refine the pattern]");
  const all = await text("glob", folder, { pattern: "*" });
  expect(all.split("\n")).toHaveLength(508);
  expect(all).toMatch(/\[1000 of 1100 results.*50\.0KB limit reached/);
});

test("grep: lines with path and number, by pattern, literal, case, glob and folder", async () => {
  const folder = folderWith({
    "a.txt": "one\nTwo a.b\r\nthree\n",
    "src/b.ts": "const one = 1;\n\n\n  indented\n",
    "src/c.md": "aXb",
  });
  const found = (args: { [name: string]: Json }) => text("grep", folder, args);
  expect(await found({ pattern: "one" })).toBe("a.txt:1: one\nsrc/b.ts:1: const one = 1;");
  expect(await found({ pattern: "a.b" })).toBe("a.txt:2: Two a.b\nsrc/c.md:1: aXb");
  expect(await found({ pattern: "a.b", literal: true })).toBe("a.txt:2: Two a.b");
  expect(await found({ pattern: "two", ignore_case: true })).toBe("a.txt:2: Two a.b");
  expect(await found({ pattern: "two" })).toBe("No matches found");
  expect(await found({ pattern: "one", glob: "*.ts" })).toBe("src/b.ts:1: const one = 1;");
  expect(await found({ pattern: "one", path: "src" })).toBe("src/b.ts:1: const one = 1;");
  expect(await found({ pattern: "three", path: "a.txt" })).toBe("a.txt:3: three");
  expect(await found({ pattern: "^\\s*indented" })).toBe("src/b.ts:4:   indented");
  expect(await found({ pattern: "^$" })).toBe("src/b.ts:2: \nsrc/b.ts:3: ");
  expect(await found({ pattern: "e$" })).toBe("a.txt:1: one\na.txt:3: three");
  expect(await refusal("grep", folder, { pattern: "(" })).toMatch(/^grep: .*unclosed group/);
});

test("grep: context, merged where it overlaps", async () => {
  const folder = folderWith({ a: "1\nx2\n3\nx4\n5\n6\n7\n8\nx9", b: "x" });
  expect(await text("grep", folder, { pattern: "x", context: 1 })).toBe(
    ["a-1- 1", "a:2: x2", "a-3- 3", "a:4: x4", "a-5- 5", "--", "a-8- 8", "a:9: x9", "--", "b:1: x"].join("\n"),
  );
});

test("grep: the limit, the 50 KB and long lines, with notes", async () => {
  const folder = folderWith({
    many: Array.from({ length: 300 }, (_, index) => `hit ${index} ${"y".repeat(600)}`).join("\n"),
    long: `${"é".repeat(20_000)}needle${"z".repeat(20_000)}`,
  });
  const two = await text("grep", folder, { pattern: "hit", limit: 2 });
  expect(two.match(/^many:/gm)).toHaveLength(2);
  expect(two).toContain("2 matches limit reached. Use limit=4 for more");
  const exact = await text("grep", folder, { pattern: "hit (1|2) ", limit: 2 });
  expect(exact).not.toContain("matches limit reached");
  const bytes = await text("grep", folder, { pattern: "hit", limit: 300 });
  expect(bytes).toContain("50.0KB limit reached");
  expect(Buffer.byteLength(bytes)).toBeLessThan(MAX_BYTES + 200);
  const long = await text("grep", folder, { pattern: "needle" });
  expect(long).toMatch(/^long:1: \.\.\. é{100}needlez{394}\.\.\. \[truncated\]\n\n\[Some lines are cut/);
});

test("grep finds the lines that match one by one", async () => {
  const patterns = ["a", "^\\s*b", "a\\s+b", "[^c]$", "(?s)a.*b", "\\bb", "^$", "a?", "\\s"];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...patterns),
      fc.string({ unit: fc.constantFrom(..."abc \n\n".split("")), maxLength: 40 }),
      async (pattern, content) => {
        const expected = content
          .replace(/\n$/, "")
          .split("\n")
          .flatMap((line, index) => (matchesAlone(pattern, line) ? [index + 1] : []));
        const folder = folderWithout(content);
        const answer = await text("grep", folder, { pattern, limit: 1000 });
        const found = [...answer.matchAll(/^f:(\d+):/gm)].map(([, number]) => Number(number));
        expect(found).toEqual(content === "" ? [] : expected);
      },
    ),
    { numRuns: 50 },
  );
});

const scratch: { folder?: string } = {};

function folderWithout(content: string): string {
  scratch.folder ??= folderWith();
  mkdirSync(scratch.folder, { recursive: true });
  writeFileSync(join(scratch.folder, "f"), content);
  return scratch.folder;
}

/** The oracle: these patterns mean the same in JavaScript. */
function matchesAlone(pattern: string, line: string): boolean {
  return new RegExp(pattern.replace("(?s)", ""), pattern.startsWith("(?s)") ? "s" : "").test(line);
}

test("documents have the lines that the loader gives them, and are converted once", async () => {
  const report = ORIGINALS["report.pdf"]?.() ?? "";
  const [folder, keptIn] = [
    folderWith({ "report.pdf": report, "all.zip": zip([{ name: "r.pdf", data: report }]) }),
    folderWith(),
  ];
  const readable = { roots: [folder], cwd: folder, documents: { keptIn } };
  expect(await text("read_file", readable, { path: "report.pdf", limit: 2 })).toMatch(/^\[p\.1\]\nAnnual report\n/);
  expect(await text("grep", readable, { pattern: "Annual" })).toBe(
    "all.zip:4: Annual report\nreport.pdf:2: Annual report",
  );
  expect(readdirSync(keptIn)).toHaveLength(2);
  const as = { ...readable, documents: { convert: { pdf: false } } };
  expect(await refusal("read_file", as, { path: "report.pdf" })).toMatch(/cannot be read: binary/);
});

test("an abort ends a search", async () => {
  const folder = folderWith({ a: "x" });
  for (const [name, args] of Object.entries({ glob: { pattern: "*" }, grep: { pattern: "x" } })) {
    const tool = readOnlyTools({ roots: [folder], cwd: folder }).find((each) => each.name === name);
    await expect(tool?.run(args, AbortSignal.abort())).rejects.toThrow("aborted");
  }
});

test("a name with a line feed passes for one line of an answer", async () => {
  const folder = folderWith({ "a\nb:1: x": "needle", "c\nd/e": "" });
  expect(await text("grep", folder, { pattern: "needle" })).toBe('"a\\nb:1: x":1: needle');
  expect(await text("glob", folder, { pattern: "*" })).toBe('"a\\nb:1: x"\n"c\\nd/"\n"c\\nd/e"');
});
