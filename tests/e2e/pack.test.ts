import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pack } from "../../scripts/package.ts";
import { mustRun, ROOT, run } from "../../scripts/process.ts";
import { folderWith } from "../support/tree.ts";

const LIBRARY_PROGRAM = `
import { openSession } from "belay-rlm";
await using session = await openSession();
await session.load(".");
await session.memory.put("word", "TODO");
const answer = await session.exec("({ found: find(memory.get('word')).matches.length, best: search('first', 1)[0]?.text })");
console.log(JSON.stringify(answer.result_json));
`;

test("the tarball installs into an empty folder and works there", { timeout: 120_000 }, async ({ skip }) => {
  const tarball = await pack(folderWith());
  const cwd = folderWith({
    "package.json": '{ "private": true }',
    ".gitignore": "node_modules\n*.json\n*.mjs\n",
    "notes.txt": "TODO: the first\nTODO: the second\n",
    "library.mjs": LIBRARY_PROGRAM,
  });
  const install = await run("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], { cwd });
  if (install.output.includes("ENOTCACHED")) {
    const missing = /request to (\S+) failed/.exec(install.output)?.[1] ?? "a dependency";
    console.log(`skipped: npm's cache does not hold ${missing}, and this test does not use the network`);
    skip();
  }
  expect(install.code, install.output).toBe(0);

  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const shown = await mustRun("npx", ["--offline", "belay", "--version"], { cwd });
  expect(shown.stdout).toContain(version);

  const belay = join(cwd, "node_modules/.bin/belay");
  const sum = await mustRun(belay, ["exec", "-e", "1+1", "--json"], { cwd });
  expect(JSON.parse(sum.stdout)).toMatchObject({ success: true, result_json: 2, warnings: [] });
  const counted = await mustRun(belay, ["exec", "-c", ".", "-e", 'find("TODO").matches.length', "--json"], { cwd });
  expect(JSON.parse(counted.stdout)).toMatchObject({ success: true, result_json: 2 });

  const library = await mustRun(process.execPath, ["library.mjs"], { cwd });
  expect(JSON.parse(library.stdout)).toEqual({ found: 2, best: "TODO: the first\nTODO: the second\n" });
});
