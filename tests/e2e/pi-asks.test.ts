import { expect } from "vitest";
import { CELL_FILES } from "../support/pi/cells.ts";
import { killedAt } from "../support/pi/kill.ts";
import { envelopeOf, resultTo } from "../support/pi/model.ts";
import { played } from "../support/pi/played.ts";
import { NEWEST_PI } from "../support/pi/process.ts";
import { exec, loadedIn, mirrored, piScene, resultsOnDisk } from "../support/pi/scene.ts";

const LOOK = `var found = find("TODO").matches; var said = await llm_query("look", { tools: [] }); print(found.length)`;

played(NEWEST_PI, "an ask killed in its last turn is finished by the next process, with variables", async (line) => {
  await using scene = await piScene(line, { files: CELL_FILES });
  const { model, start } = scene;
  const file = await loadedIn(scene);
  const question = model.planAsk("How many TODOs are there?", LOOK, "answer(found.length, { cite: found })");
  // The results of the first turn and of its cell's sub-call come before that of the second turn.
  const last = { at: "commit", record: "rlm_tool_result", side: "after", nth: 3 } as const;
  const task = { prompt: "ask it", call: { tool: "rlm_ask", args: { question } }, subCalls: 0 };
  await killedAt(scene, start(file), { by: last }, task);
  const pi = start(file);
  await pi.prompt(model.plan("look", exec("result = [found.length, said]")));
  const told = (prompt: string) => envelopeOf(resultTo(model.turns().at(-1), prompt));
  expect(told("ask it")).toMatchObject({ success: true, answer: 2, turns: 2, cells: 2 });
  expect(told("look")).toMatchObject({ success: true, result_json: [2, "answer to look"] });
  expect([model.rootTurns().length, model.subCalls()]).toEqual([2, ["look"]]);
  expect(mirrored(file, "rlm_start").map(({ data }) => data?.kind)).toEqual(["load", "ask", "cell"]);
  expect(mirrored(file, "rlm_complete").map(({ data }) => data?.kind)).toEqual(["load", "ask", "cell"]);
  expect(mirrored(file, "rlm_tool_call")).toEqual([]);
  expect([...resultsOnDisk(file).values()].map((texts) => texts.length)).toEqual([1, 1, 1]);
  const notes = pi.events.filter(({ method }) => method === "notify").map(({ message }) => message);
  expect(notes).toContainEqual(expect.stringContaining("2 turns and 1 of 1 sub-calls had their answers already"));
});
