import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../../support/tree.ts";
import { belay, jsonLines } from "./belay.ts";
import { belayHere } from "./in-process.ts";

const CORPUS = {
  "docs/a.md": "# Alpha\nThe openSession function opens a session.\n",
  "docs/b.md": "# Beta\nTODO: write this.\n",
  "docs/logo.png": new Uint8Array([137, 80, 0, 0]),
  "extra.txt": "extra\n",
};

test("output, result, skipped files and warnings reach the right streams", async () => {
  const cwd = folderWith(CORPUS);
  const code = 'print("seen"); console.error("aside"); result = { docs: list_docs().map(({ id }) => id), fn() {} }';
  const run = await belayHere(["exec", "-e", code, "-c", "docs", "-c", "extra.txt"], { cwd });
  expect(run).toMatchObject({ code: 3, stdout: 'seen\n{ "docs": ["a.md", "b.md", "extra.txt"], "fn": null }\n' });
  const [skipped, printed, warned] = run.stderr.split("\n");
  expect(skipped).toBe("docs: skipped 1 file: logo.png (binary)");
  expect(printed).toBe("aside");
  expect(warned).toBe("warning: JSON cannot hold result.fn (a function): it is null in the result");
});

test("the context comes from stdin", async () => {
  const run = await belay(["exec", "-q", "-c", "-", "-e", "[P, list_docs()[0].id]"], { input: "über\n" });
  expect(run).toEqual({ code: 0, stdout: '["über\\n", "stdin"]\n', stderr: "" });
});

test("search keeps its index in the store folder and prints nothing but the result", async () => {
  const cwd = folderWith(CORPUS);
  const home = join(folderWith(), "deep", "home");
  const args = ["exec", "-q", "-c", "docs", "-e", 'search("open session")[0].text'];
  const run = await belayHere(args, { cwd, home });
  expect(run).toEqual({ code: 0, stdout: "# Alpha\nThe openSession function opens a session.\n", stderr: "" });
  expect(statSync(home).mode & 0o777).toBe(0o700);
  // If the process started slowly, it also keeps a record of the load: the files are old enough then.
  const indexes = readdirSync(join(home, "index")).filter((name) => !name.startsWith("load-"));
  expect(indexes).toEqual([expect.stringMatching(/\.index$/)]);
});

test("a store folder that cannot be made is an error with two cures, and one of them works", async () => {
  const cwd = folderWith(CORPUS);
  const home = join(cwd, "extra.txt", "home");
  const args = ["exec", "-q", "-c", "docs", "-e", 'search("open session").length > 0'];
  const [kept, unkept] = await Promise.all([
    belayHere(args, { cwd, home }),
    belayHere([...args, "--no-store"], { cwd, home }),
  ]);
  expect(kept).toMatchObject({ code: 1, stdout: "" });
  expect(kept.stderr).toMatch(/^error: sessions cannot be kept: .*extra\.txt is not a folder \(store_failed\)\n/);
  expect(kept.stderr).toMatch(/\nsuggestion: .* --store DIR or BELAY_HOME, or keep nothing with --no-store\.\n$/);
  expect(unkept).toEqual({ code: 0, stdout: "true\n", stderr: "" });
});

test("cells run in the order given, in one session, until one fails", async () => {
  const cwd = folderWith({
    "one.js": "let seen = ['one'];",
    "three.js": "\ufeffseen.push('three'); seen",
    "four.js": "4",
  });
  const args = ["one.js", "-e", "seen.push('eval'), null", "three.js", "-e", "seen.missing.x", "four.js"];
  const [text, json] = await Promise.all([
    belayHere(["exec", ...args], { cwd }),
    belayHere(["exec", "--json", ...args], { cwd }),
  ]);
  expect(text.code).toBe(1);
  expect(text.stdout).toBe('["one", "eval", "three"]\n');
  expect(text.stderr).toMatch(/^TypeError: .*\n {4}at <cell 4>:1:\d+\nsuggestion: .*\n/);
  expect(text.stderr).toMatch(/\nstopped at cell 4 of 5 \(-e\); 1 cell not run\n$/);
  const envelopes = jsonLines(json);
  expect(json).toMatchObject({ code: 1, stderr: "" });
  expect(envelopes.map(({ success }) => success)).toEqual([true, true, true, false]);
  expect(new Set(envelopes.map(({ session_id }) => session_id)).size).toBe(1);
  expect(new Set(envelopes.map(({ exec_id }) => exec_id)).size).toBe(4);
  expect(envelopes[2]).toMatchObject({ result_json: ["one", "eval", "three"], stdout: "", warnings: [] });
});

test("a cell comes from stdin; without a context only its builtins fail", async () => {
  const [ran, failed] = await Promise.all([
    belayHere(["exec", "-q", "-"], { input: "memory.put('n', 6);\nmemory.get('n') * 7" }),
    belayHere(["exec", "--json", "-e", "peek(0, 1)"]),
  ]);
  expect(ran).toEqual({ code: 0, stdout: "42\n", stderr: "" });
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.stdout)).toMatchObject({ success: false, error_code: "context_not_loaded" });
});

test("the options are the limits of the session", async () => {
  const code = "print('x'.repeat(1000)); [limits(), 'ab'.repeat(30e6).length]";
  const output = ["--max-output-bytes=200", "--max-result-bytes", "5000000"];
  const limits = ["--max-execution-ms", "120001", "--max-find-results", "3", ...output];
  const [run, starved] = await Promise.all([
    belayHere(["exec", "--json", ...limits, "-e", code]),
    belayHere(["exec", "--json", "--memory-mb", "16", "-e", code]),
  ]);
  const expected = {
    ...{ max_execution_ms: 120_001, max_output_bytes: 200, max_find_results: 3, max_result_bytes: 5_000_000 },
  };
  const envelope = JSON.parse(run.stdout);
  expect(envelope).toMatchObject({ success: true, truncated: true, result_json: [expected, 60e6] });
  expect(envelope.limits_applied).toEqual(expected);
  expect(JSON.parse(starved.stdout).error_code).toBe("memory_limit_exceeded");
});

test("what cannot be loaded ends the run with code 1 before any cell", async () => {
  const cwd = folderWith(CORPUS);
  const cell = ["-e", "print('ran')"];
  const [missing, json] = await Promise.all([
    belayHere(["exec", ...cell, "-c", "docs", "-c", "dosc"], { cwd }),
    belayHere(["exec", "--json", ...cell, "-c", "docs/logo.png"], { cwd }),
  ]);
  expect(missing).toMatchObject({ code: 1, stdout: "" });
  expect(missing.stderr).toMatch(/^error: dosc does not exist \(path_not_found\)\nsuggestion: .*\n$/);
  expect(json).toMatchObject({ code: 1, stderr: "" });
  expect(JSON.parse(json.stdout)).toMatchObject({
    ...{ success: false, error_code: "invalid_argument", error_message: expect.stringContaining("docs/logo.png") },
    ...{ suggestion: expect.stringMatching(/./), stdout: "" },
  });
});

test("a symlink may lead into another context or a --root, and nowhere else", async () => {
  const cwd = folderWith(
    { "docs/a.md": "a", "more/b.md": "b", "other/c.md": "c" },
    { "docs/more": "../more", "docs/c.md": "../other/c.md" },
  );
  const code = "list_docs().map(({ id }) => id)";
  // The file of `more` is there already, by way of the link.
  const [narrow, wide] = await Promise.all([
    belayHere(["exec", "-e", code, "-c", "docs"], { cwd }),
    belayHere(["exec", "-e", code, "-c", "docs", "-c", "more", "--root", "other", "-q"], { cwd }),
  ]);
  expect(narrow).toMatchObject({ code: 0, stdout: '["a.md"]\n' });
  expect(narrow.stderr).toMatch(/^docs: skipped 2 files: c\.md \(symlink .*\), more \(symlink .*\)\n$/);
  expect(wide).toEqual({ code: 0, stdout: '["a.md", "c.md", "more/b.md"]\n', stderr: "" });
});
