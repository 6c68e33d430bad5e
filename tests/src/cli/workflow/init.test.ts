import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { compactJson, withEntry } from "../../../../src/cli/workflow/config-entry.ts";
import { KNOWN_AGENTS } from "../../../../src/cli/workflow/known-agents.ts";
import { readUserFile } from "../../../../src/settings/index.ts";
import { folderWith, type Tree } from "../../../support/tree.ts";
import { json } from "../belay.ts";
import { belayHere } from "../in-process.ts";
import { scene } from "./scene.ts";

/** A program of this name that tells its version, on the path. */
async function withProgram(tree: Tree = {}, text = '#!/bin/sh\necho "2.0.1 ($1)"\n') {
  const { home, read, work } = await scene(tree);
  const bin = join(work, "bin");
  mkdirSync(bin);
  for (const name of ["claude", "codex", "pi"]) {
    writeFileSync(join(bin, name), text);
    chmodSync(join(bin, name), 0o755);
  }
  const env = { PATH: [bin, process.env.PATH].join(delimiter) };
  const init = (name: string, ...more: readonly string[]) =>
    belayHere(["workflow", "--init", name, ...more], { cwd: work, home, env });
  return { init, read: () => read("home/config.json"), file: join(home, "config.json") };
}

test.each(["claude", "codex", "pi"] as const)(
  "--init %s writes an entry that configuration takes, and tries it",
  async (name) => {
    const { init, file } = await withProgram();
    const { code, stdout } = await init(name);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`${name} --version: 2.0.1 (--version)`)]);
    expect(stdout).toContain(`belay workflow FILE --agent ${name}`);
    expect(readUserFile(file)).toEqual({ agents: { [name]: KNOWN_AGENTS[name].entry } });
  },
);

test("what is in the file stays as it was written, and an entry that is there is left", async () => {
  const there = '{\n\t"model": "a/b",\n\t"max_cost_usd": 1.50,\n\t"agents": {}\n}\n';
  const { init, read } = await withProgram({ "home/config.json": there });
  expect((await init("pi")).code).toBe(0);
  expect(read()).toMatch(/^\{\n\t"model": "a\/b",\n\t"max_cost_usd": 1\.50,\n\t"agents": \{\n\t\t"pi": \{\n/);
  const before = read();
  const again = await init("pi", "--json");
  expect(json(again)).toMatchObject({ success: true, agent: "pi", was_there: true, version: "2.0.1 (--version)" });
  expect(read()).toBe(before);
  expect((await init("claude")).code).toBe(0);
  expect(Object.keys(JSON.parse(read()).agents)).toEqual(["pi", "claude"]);
});

test("a file with comments is told and left, and so is a program that is missing or fails", async () => {
  const commented = '{ // mine\n "model": "a/b" }';
  const { init, read } = await withProgram({ "home/config.json": commented });
  const refused = await init("claude");
  expect([refused.code, refused.stderr, read()]).toEqual([1, expect.stringContaining("is not valid JSON"), commented]);
  const failing = await withProgram({}, "#!/bin/sh\nexit 3\n");
  const failed = await failing.init("codex");
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining("codex --version failed")]);
  const { home, work, read: readIn } = await scene();
  const env = { PATH: folderWith() };
  const missing = await belayHere(["workflow", "--init", "claude", "--json"], { cwd: work, home, env });
  expect(missing.code).toBe(1);
  expect(json(missing)).toMatchObject({ success: false, error_code: "no_model_configured" });
  expect(json(missing).error_message).toContain("claude was not found; its entry is written");
  expect(JSON.parse(readIn("home/config.json")).agents.claude.command[0]).toBe("claude");
});

test.each([
  ["{}", '{\n  "agents": {\n    "a": { "x": 1 }\n  }\n}'],
  ['{"agents":{"b":{}}}', '{"agents":{"b":{},\n    "a": {\n      "x": 1\n    }\n  }}'],
  ['{ "model": "agents" }', '{ "model": "agents",\n  "agents": {\n    "a": { "x": 1 }\n  }\n}'],
])("an entry is put into %s", (text, expected) => {
  expect(withEntry(text, "agents", "a", { x: 1 })).toBe(expected);
});

test("JSON in lines is the same value", () => {
  const value = { a: [1, "x".repeat(120)], b: { c: null, d: [] } };
  expect(JSON.parse(compactJson(value, "  "))).toEqual(value);
});
