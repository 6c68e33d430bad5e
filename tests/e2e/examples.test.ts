import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import { expect, test, vi } from "vitest";
import { ROOT } from "../../scripts/process.ts";
import { openSession } from "../../src/index.ts";
import { belayHere } from "../src/cli/in-process.ts";
import { folderWith } from "../support/tree.ts";

/** Without the one that the demo runs. */
const CELLS = globSync("*.js", { cwd: join(ROOT, "examples") })
  .filter((file) => file !== "01-explore.js")
  .toSorted();

/** Runs the line `belay exec …` that a cell names for itself, over docs/, and gives the printed envelopes. */
async function runAsItSays(file: string): Promise<{ success: boolean; result_json: unknown; warnings: string[] }[]> {
  const source = readFileSync(join(ROOT, "examples", file), "utf8");
  const [line = ""] = source.match(/(?<=^\/\/ {3}belay ).+$/m) ?? [];
  expect(line).toMatch(/^exec .*-c PATH$/);
  const args = line.replace("PATH", "docs").split(" ");
  const { code, stdout, stderr } = await belayHere([...args, "--json", "--quiet"], { cwd: ROOT });
  expect([code, stderr]).toEqual([0, ""]);
  return stdout
    .trim()
    .split("\n")
    .map((envelope) => JSON.parse(envelope));
}

test.each(CELLS)("%s runs as its first lines say", async (file) => {
  const envelopes = await runAsItSays(file);
  expect(envelopes.filter(({ success }) => !success)).toEqual([]);
  expect(envelopes.at(-1)?.result_json).not.toBeNull();
});

test("the demo finds documents, definitions, answers and routes in this repository", async () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const [, line = ""] = /^node src\/cli\/main\.ts (.+)$/.exec(scripts.demo) ?? [];
  const { stdout } = await belayHere([...line.split(" "), "--json"], { cwd: ROOT });
  const { result_json: found, warnings } = JSON.parse(stdout);
  // Pictures and some inputs of tests are no text, and two are Japanese.
  expect(warnings).toEqual([
    expect.stringMatching(/^documents_lost: 2 documents, 2 guessed encodings/),
    expect.stringMatching(/^files_skipped: \d+ files \(\d+ binary\)/),
  ]);
  expect(found.documents).toBeGreaterThan(100);
  expect(found.definitions).toBeGreaterThan(100);
  expect(found.answers.length).toBeGreaterThan(0);
  expect(found.routes).toContain("docs/builtins.md");
});

test("passes go on where memory says, and end", async () => {
  const files = folderWith(
    Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`${n}.txt`, "readFile toString"])),
  );
  await using session = await openSession({ roots: [files] });
  await session.load(files);
  const cell = readFileSync(join(ROOT, "examples/02-multi-pass.js"), "utf8");
  const first = await session.exec(cell);
  const second = await session.exec(cell);
  expect(first.result_json).toMatchObject({ pass: 1, done: false });
  expect(second.result_json).toEqual({ pass: 2, done: true, shared: ["readFile", "toString"] });
  expect(second.stdout).toContain("readFile stands in 150");
});

test("what a cell gives to helpers is there in the next", async () => {
  await using session = await openSession({ cwd: ROOT });
  await session.load({ name: "notes.txt", text: "one\ntwo TODO\n" });
  await session.exec(readFileSync(join(ROOT, "examples/03-helpers.js"), "utf8"));
  await session.exec("grep = placeOf = undefined");
  expect((await session.exec('grep("two")')).result_json).toEqual(["notes.txt:2: two TODO"]);
});

/** Runs a program of examples/ in this process, where the library is loaded already, and gives what it prints. */
async function printedBy(program: string): Promise<string> {
  const lines: string[] = [];
  using _log = vi.spyOn(console, "log").mockImplementation((...told) => void lines.push(format(...told)));
  await import(pathToFileURL(join(ROOT, "examples", program)).href);
  return lines.join("\n");
}

test("the library example runs to its end", async () => {
  const printed = await printedBy("library-session.ts");
  expect(printed).toMatch(/^js_error: ReferenceError: fetch is not defined$/m);
  expect(printed).toMatch(/^js_timeout after 200 ms$/m);
  expect(printed).toMatch(/\nstill there: \d+$/);
});

test("the example of functions orders nothing twice", async () => {
  const printed = await printedBy("library-functions.ts");
  expect(printed.match(/^order of axe$/gm)).toHaveLength(1);
  expect(printed).toContain("[ 'axe', 3, 'process_restarted' ]");
});
