import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { objectId } from "../../src/context/index.ts";
import { FIRST_RUN_FILE } from "../../src/pi/view/index.ts";
import { envelopeOf, resultTo } from "../support/pi/model.ts";
import { played } from "../support/pi/played.ts";
import { entriesIn, OLDEST_PI } from "../support/pi/process.ts";
import { piScene } from "../support/pi/scene.ts";

const FACT = "remember: the code word is heron";

played(OLDEST_PI, "what was said is found behind a compaction and after a restart, without a store", async (line) => {
  await using scene = await piScene(line, { files: { "notes.md": "# Notes\n\nthe pass word is crane\n" } });
  const { model, home, start } = scene;
  const first = start();
  await first.prompt(model.plan(FACT, { tool: "read", args: { path: join(home.project, "notes.md") } }));
  await first.prompt(model.plan("small talk"));
  await first.ask("compact");
  const file = await first.sessionFile();
  expect(entriesIn(file).some(({ type }) => type === "compaction")).toBe(true);
  await first.kill();

  const second = start(file);
  const asked = model.plan(
    "what was it?",
    { tool: "rlm_search", args: { pattern: "/(code|pass) word is \\w+/" } },
    { tool: "rlm_peek", args: { id: objectId(FACT).slice(0, 14), offset: 10 } },
    { tool: "rlm_stats", args: {} },
    { tool: "rlm_peek", args: { id: "rlm-obj-000000" } },
  );
  await second.prompt(asked);
  const request = model.turns().at(-1);
  expect(resultTo(request, asked, 0)?.split("\n")).toEqual([
    "3 hits in 3 objects for /(code|pass) word is \\w+/",
    `${objectId(FACT)} history/0001-user`,
    `  14: ${FACT}`,
    expect.stringMatching(/^rlm-obj-\w{12} history\/0003-read$/),
    "  13: # Notes the pass word is crane ",
    expect.stringMatching(/ history\/0004-assistant$/),
    `  20: done: ${FACT}`,
  ]);
  expect(resultTo(request, asked, 1)).toBe(
    `${objectId(FACT)} · history/0001-user · characters 10 to ${FACT.length} of ${FACT.length}\n${FACT.slice(10)}`,
  );
  const stats = { success: true, history: { objects: 12 }, request: { window: expect.any(Number) } };
  expect(envelopeOf(resultTo(request, asked, 2))).toMatchObject(stats);
  expect(envelopeOf(resultTo(request, asked, 3))).toMatchObject({ error_code: "object_not_found" });
  const errors = entriesIn(file).map(({ message }) => message?.isError);
  expect(errors.filter(Boolean)).toHaveLength(1);
  expect(readdirSync(home.belay)).toEqual([FIRST_RUN_FILE]);
  expect(second.events.filter(({ type }) => type === "extension_error")).toEqual([]);
});
