import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { builtins } from "../../builtins/index.ts";
import { ROOT, run } from "../../scripts/process.ts";
import { folderWith, type Tree } from "../support/tree.ts";

const TSC = join(dirname(fileURLToPath(import.meta.resolve("typescript/package.json"))), "bin/tsc");

/** What an editor says about cells, as `cell.js(line,column): code`. Each cell is a scope of its own. */
async function problemsOf(cells: Tree): Promise<string[]> {
  const folder = folderWith({ ...cells, "belay.d.ts": readFileSync(join(ROOT, "belay.d.ts"), "utf8") });
  const strict = ["--noEmit", "--allowJs", "--checkJs", "--strict", "--noImplicitAny", "false"];
  const options = [...strict, "--moduleDetection", "force"];
  const target = ["--target", "esnext", "--module", "esnext", "--lib", "esnext", "--types", ""];
  const args = [TSC, ...options, ...target, "--ignoreConfig", "belay.d.ts", ...Object.keys(cells)];
  const { output } = await run(process.execPath, args, { cwd: folder });
  return output.match(/^\S+\(\d+,\d+\): error TS\d+.*/gm) ?? (output.trim() === "" ? [] : [output]);
}

test("editors accept the example of every builtin and what the machine adds", async () => {
  const examples = builtins.map(({ name, example }): [string, string] => [`${name}.js`, example]);
  const rest = `
print("text", 1, { a: [1] });
console.log(1);
console.error("no");
rlm_memory_put("key", search("x"));
const kept = rlm_memory_get("key");
result = { kept, total: await Promise.resolve(kept.length) };
result_meta = { page: 1 };
`;
  expect(await problemsOf({ ...Object.fromEntries(examples), "rest.js": rest })).toEqual([]);
});

test("editors accept the example cells", async () => {
  const files = globSync("*.js", { cwd: join(ROOT, "examples") });
  const cells = files.map((file) => [file, readFileSync(join(ROOT, "examples", file), "utf8")]);
  expect(await problemsOf(Object.fromEntries(cells))).toEqual([]);
});

test("editors flag what no cell can do", async () => {
  const wrong = `P = "text";
peek("0", 1);
memory.fetch("key");
find("x").matches.at(0).length.nothing;
setTimeout(print, 1);
require("node:fs");
`;
  const problems = await problemsOf({ "wrong.js": wrong });
  const lines = problems.map((problem) => Number(/\((\d+),/.exec(problem)?.[1]));
  expect(new Set(lines)).toEqual(new Set([1, 2, 3, 4, 5, 6]));
});
