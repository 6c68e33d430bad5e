import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { isErrorCode } from "../../runtime/index.ts";
import { ROOT } from "../../scripts/process.ts";
import { COMMANDS } from "../../src/cli/commands/index.ts";
import { parseArguments } from "../../src/cli/flags/arguments.ts";

// What pages name is there: files, commands and their options, scripts, error codes.

const PAGES = [
  "README.md",
  "AGENTS.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "CHANGELOG.md",
  ...globSync(["docs/**/*.md", "{src/*,runtime,builtins,campaigns,bench}/AGENTS.md"], { cwd: ROOT }),
].map((page) => ({ page, text: readFileSync(join(ROOT, page), "utf8") }));

/** The first group of each match, with the page that has it. */
function named(pattern: RegExp): { readonly page: string; readonly name: string }[] {
  return PAGES.flatMap(({ page, text }) => Array.from(text.matchAll(pattern), ([, name = ""]) => ({ page, name })));
}

test("every link leads to a file", () => {
  // The examples of builtins print links of their own.
  const links = named(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g).filter(({ page }) => page !== "docs/builtins.md");
  const broken = links.filter(({ page, name }) => !existsSync(join(ROOT, dirname(page), name)));
  expect(links.length).toBeGreaterThan(30);
  expect(broken).toEqual([]);
});

test("no table is cut in two by an empty line", () => {
  const cut = named(/\|\n\n(\|[^\n]*\|)\n(?!\|---)/g);
  expect(cut).toEqual([]);
});

test("every file of the tree that is named by its path is there", () => {
  // The examples of builtins print paths of their own, and recipes have NAME in paths of new files.
  const files = named(
    /(?<![\w/.-])((?:runtime|builtins|src|tests|campaigns|bench|scripts|examples|extensions)\/[\w./-]*\w)(?![\w*-])/g,
  ).filter(({ page, name }) => page !== "docs/builtins.md" && !name.includes("NAME"));
  expect(files.length).toBeGreaterThan(150);
  expect(files.filter(({ name }) => !existsSync(join(ROOT, name)))).toEqual([]);
});

const ARCHITECTURE = readFileSync(join(ROOT, "docs/architecture.md"), "utf8");

test.each(["src/cli", "src/pi"])("the map of %s has every folder of it, and no file that is not there", (folder) => {
  const [, map = ""] = ARCHITECTURE.split(`## Where things are in ${folder}\n`)[1]?.split("```") ?? [];
  const folders = readdirSync(join(ROOT, folder), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.filter(({ name }) => !map.includes(`${name}/`))).toEqual([]);
  const files = globSync("**/*.ts", { cwd: join(ROOT, folder) }).map((path) => basename(path));
  const listed = map.match(/(?<=^|[ /])[\w-]+\.ts/gm) ?? [];
  expect(listed.filter((name) => !files.includes(name))).toEqual([]);
});

test("every command that is named can be typed, with its options", () => {
  const lines = named(/`belay ([a-z][^`\n]*)`/g);
  expect(lines.length).toBeGreaterThan(10);
  for (const { page, name } of lines) {
    const [command = "", ...args] = name.split(" ");
    const known = COMMANDS.find((one) => one.name === command);
    expect(known, `${page}: belay ${name}`).toBeDefined();
    expect(() => parseArguments(command, known?.options ?? [], args), `${page}: belay ${name}`).not.toThrow();
  }
});

test("every option that is named is one of a command", () => {
  const options = new Set(["help", "version", ...COMMANDS.flatMap((command) => command.options.map((of) => of.name))]);
  const flags = named(/`--([a-z][\w-]*)/g).filter(({ page }) => !page.startsWith("docs/decisions/"));
  const unknown = flags.filter(({ name }) => !options.has(name) && !OF_OTHERS.includes(name));
  expect(flags.length).toBeGreaterThan(20);
  expect(unknown).toEqual([]);
});

/** Options of Pi and Prime Agent, of Node, and of a script. */
const OF_OTHERS = ["continue", "local", "host", "no-wasm-code-gc"];

test("every npm script that is named exists", () => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const wanted = named(/npm run ([\w:-]+)/g);
  expect(wanted.length).toBeGreaterThan(5);
  expect(wanted.filter(({ name }) => !(name in scripts))).toEqual([]);
});

test("every part of the bench that is named can be run", () => {
  const bench = readFileSync(join(ROOT, "bench/run.ts"), "utf8");
  const parts = Array.from(bench.matchAll(/^ {2}"?([\w-]+)"?: bench\w+,$/gm), ([, part = ""]) => part);
  const wanted = named(/npm run bench -- (\w[\w-]*)/g);
  expect(wanted.length).toBeGreaterThan(5);
  expect(wanted.filter(({ name }) => !parts.includes(name))).toEqual([]);
});

test("what an exec ends as is an error code", () => {
  const ends = named(/\b(?:ends?|fails?|ended)(?: the (?:exec|call))? (?:as|with) `(\w+)`/g);
  expect(ends.length).toBeGreaterThan(2);
  expect(ends.filter(({ name }) => !isErrorCode(name))).toEqual([]);
});
