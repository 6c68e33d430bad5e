import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as ai from "@mariozechner/pi-ai";
import * as tui from "@mariozechner/pi-tui";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";
import { envelopeOf, resultTo } from "../support/pi/model.ts";
import type { PiLine } from "../support/pi/process.ts";
import { exec, piScene } from "../support/pi/scene.ts";
import { folderWith } from "../support/tree.ts";

const SCOPE = "node_modules/@mariozechner";

/** A fork of Pi, whose packages have less for extensions than Pi's. */
function forkWithout(lacking: readonly string[]): PiLine {
  const others = (all: object) => Object.keys(all).filter((name) => !lacking.includes(name));
  // Pi's loader takes these packages from folders beside its own, if they are there.
  const folder = folderWith({
    "ai/dist/index.js": `export { ${others(ai)} } from "@mariozechner/pi-ai";`,
    "tui/dist/index.js": `export { ${others(tui)} } from "@mariozechner/pi-tui";`,
  });
  const original = join(ROOT, SCOPE, "pi-coding-agent");
  for (const part of ["dist", "package.json"])
    cpSync(join(original, part), join(folder, "fork", part), { recursive: true });
  symlinkSync(join(original, "node_modules"), join(folder, "fork/node_modules"));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const index = join(folder, "fork/dist/index.js");
  const exported = readFileSync(index, "utf8");
  writeFileSync(index, exported.replaceAll(new RegExp(`\\b(?:${lacking.join("|")}), `, "g"), ""));
  return { version: "fork", command: join(folder, "fork/dist/cli.js") };
}

test("a fork of Pi that lacks functions: what needs none of them works, and what does names the one that is missing", async () => {
  const lacking = ["createWriteTool", "createEditTool", "highlightCode", "streamSimple", "truncateToWidth"];
  await using scene = await piScene(forkWithout(lacking), { files: { "a.txt": "alpha" } });
  const { model, home, start } = scene;
  const pi = start();
  const prompt = model.plan(
    "all",
    { tool: "rlm_load", args: { path: home.project } },
    exec("result = 2 + 3"),
    exec('await llm_query("hello", { tools: [] })'),
    exec('await llm_query("hello", { tools: ["write"] })'),
  );
  await pi.prompt(prompt);
  const [loaded, run, asked, lent] = [0, 1, 2, 3].map((n) => envelopeOf(resultTo(model.turns().at(-1), prompt, n)));
  expect(loaded).toMatchObject({ success: true });
  expect(run).toMatchObject({ success: true, result_json: 5 });
  const error_message = expect.stringContaining("this host has no streamSimple in its pi-ai");
  expect(asked).toMatchObject({ error_code: "host_incompatible", error_message });
  const suggestion = expect.stringContaining("This host can also lend bash, if");
  expect(lent).toMatchObject({ error_code: "policy_violation", suggestion });
});
