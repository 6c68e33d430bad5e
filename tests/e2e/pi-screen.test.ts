import { expect } from "vitest";
import { BUILT_EXTENSION } from "../support/command.ts";
import { played } from "../support/pi/played.ts";
import { NEWEST_PI } from "../support/pi/process.ts";
import { exec, piScene } from "../support/pi/scene.ts";
import { HAS_TMUX, piTerminal } from "../support/pi/terminal.ts";

const CELL = `const { matches } = find("TODO");
const first = await llm_query("one", { tools: [] });
const second = await llm_query("slow two", { tools: [] });
print(first);
result = { matches, second };`;

played(NEWEST_PI, "rows, the line below the editor, /rlm, and a call that outlives its Pi", async (line, { skip }) => {
  skip(!HAS_TMUX, "tmux is not installed");
  await using scene = await piScene(line, { files: { "docs/a.md": "TODO: one\n", "docs/b.md": "TODO: two\n" } });
  const { model, home } = scene;
  await using pi = piTerminal(line, { home, extension: BUILT_EXTENSION });
  model.plan("load", { tool: "rlm_load", args: { path: `${home.project}/docs` } });
  model.plan("look", exec(CELL));
  model.plan("fail", exec("let other = 1;\nnope();"));
  model.plan("ask", exec("result = [typeof matches, typeof other];"));

  await pi.start();
  expect(await pi.until(/\bscripted\b/)).not.toContain("rlm");
  await pi.type("load");
  await pi.until(/^ rlm_load · docs · 2 documents · \d+ characters · .*s$/m);
  await pi.until(/^ rlm · docs · \d+ characters · 1 checkpoint$/m);

  const hold = model.hold("slow");
  await pi.type("look");
  const running = await pi.until(/^ ● rlm_exec running \d+ s · 1 done · 1 running · 48 left · /m);
  expect(running).toMatch(/^ rlm_exec · 5 lines · running \d+ s · 1 done · 1 running · 48 left/m);
  await pi.kill();

  await pi.start("--continue");
  await pi.until(/^ ● rlm_exec recovering \d+ s/m);
  hold.release();
  const finished = await pi.until(/rlm_exec was interrupted, and is finished now/);
  expect(finished).toMatch(/^ rlm_exec · 5 lines · 2 matches · 2 sub-calls · .* · resumed$/m);
  expect(model.subCalls()).toEqual(["one", "slow two", "slow two"]);

  await pi.press("C-o");
  const expanded = await pi.until(/budget left {2}48 sub-calls/);
  expect(expanded).toMatch(/^ {3}const \{ matches \} = find\("TODO"\);$/m);
  expect(expanded).toMatch(/^ output\n {3}answer to one$/m);
  expect(expanded).toMatch(/^ {3}✓ slow two \d+ tokens/m);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
  expect(await pi.painted()).toMatch(/\u001b\[[\d;]*mconst\u001b/);
  await pi.press("C-o");

  await pi.type("fail");
  const failed = await pi.until(/^ rlm_exec · 2 lines · js_error: ReferenceError: nope is not defined/m);
  expect(failed).toMatch(/^ {3}Check the spelling of nope/m);
  await pi.type("/rlm");
  // The prompt that failed had a budget of its own, and asked nothing.
  await pi.until(/^ budget left {2}50 sub-calls · /m);
  await pi.type("/rlm checkpoints");
  await pi.until(/→ \* .* cell let other = 1; \(js_error\)/);
  await pi.press("Down");
  await pi.press("Enter");
  await pi.until(/the branch is at checkpoint/);
  await pi.type("ask");
  await pi.until(/^ rlm_exec · 1 line · 2 items/m);
  await pi.press("C-o");
  await pi.until(/^ {3}\["object","undefined"\]$/m);

  await pi.type("/rlm inspect");
  await pi.until(/^RLM inspector *$/m);
  await pi.press("/");
  for (const key of "slow") await pi.press(key);
  await pi.until(/^› +2 llm_query {2}ok .* slow two/m);
  await pi.press("Enter");
  await pi.press("Enter");
  expect(await pi.until(/^ *answered/m)).toContain("answer to slow two");
  await pi.press("Escape");
  await pi.until(/^1 of 1 · \/slow$/m);
  await pi.press("Escape");
  await pi.until(/^1 of \d\d$/m);
  await pi.press("Escape");
  await pi.until((shown) => !shown.includes("RLM inspector"));
});
