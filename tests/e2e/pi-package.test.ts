import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pack } from "../../scripts/package.ts";
import { mustRun, run } from "../../scripts/process.ts";
import { envelopeOf, resultTo, subCallAnswer } from "../support/pi-model.ts";
import { PI_LINES, printPi } from "../support/pi-process.ts";
import { exec, piScene } from "../support/pi-scene.ts";
import { folderWith } from "../support/tree.ts";

test("the packed tarball, installed by Pi into an empty agent folder, works in every line", {
  timeout: 240_000,
}, async ({ skip }) => {
  const tarball = await pack(folderWith());
  const cwd = folderWith({ "package.json": '{ "private": true }' });
  const install = await run("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], { cwd });
  if (install.output.includes("ENOTCACHED")) {
    const missing = /request to (\S+) failed/.exec(install.output)?.[1] ?? "a dependency";
    console.log(`skipped: npm's cache does not hold ${missing}, and this test does not use the network`);
    skip();
  }
  expect(install.code, install.output).toBe(0);
  expect(existsSync(join(cwd, "node_modules/@mariozechner/pi-coding-agent"))).toBe(false);

  for (const line of PI_LINES) {
    await using scene = await piScene(line, {
      files: { "notes.txt": "TODO: the first\nTODO: the second\n" },
    });
    const { model, home } = scene;
    const options = { cwd: home.project, env: home.env };
    await mustRun(process.execPath, [line.command, "install", join(cwd, "node_modules/belay-rlm")], options);
    const prompt = model.plan(
      "count what is to do",
      { tool: "rlm_load", args: { path: home.project } },
      exec(`result = [find("TODO").matches.length, await llm_query("how many?", { tools: [] })]`),
    );
    const printed = await printPi(line, prompt, { home, extensions: [] });
    expect(printed, printed.stderr).toEqual({ code: 0, stdout: `done: ${prompt}\n`, stderr: "" });
    expect(envelopeOf(resultTo(model.turns().at(-1), prompt, 1))).toMatchObject({
      success: true,
      result_json: [2, subCallAnswer("how many?")],
    });
  }
});
