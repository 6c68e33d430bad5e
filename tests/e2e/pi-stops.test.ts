import { expect } from "vitest";
import { envelopeOf, resultsIn, resultTo } from "../support/pi/model.ts";
import { played } from "../support/pi/played.ts";
import { NEWEST_PI } from "../support/pi/process.ts";
import { exec, mirrored, piScene } from "../support/pi/scene.ts";

played(NEWEST_PI, "a cancelled cell is over, whoever cancelled it", async (line) => {
  await using scene = await piScene(line, { files: { "a.txt": "alpha\n" } });
  const { model, home, start } = scene;
  const pi = start();
  await pi.prompt(model.plan("load", { tool: "rlm_load", args: { path: home.project } }));
  const waiting = (name: string) => exec(`let ${name} = 1; result = await llm_query("slow ${name}", { tools: [] })`);
  model.hold("slow");

  // Esc in the terminal.
  pi.send({ type: "prompt", message: model.plan("stop by abort", waiting("one")) });
  await model.until(() => model.subCalls().includes("slow one"));
  await pi.ask("abort");
  // The command ends the cell, and the model is told.
  pi.send({ type: "prompt", message: model.plan("stop by command", waiting("two")) });
  await model.until(() => model.subCalls().includes("slow two"));
  await pi.prompt("/rlm cancel");
  await model.until(() => resultTo(model.turns().at(-1), "stop by command") !== undefined);
  const cancelled = envelopeOf(resultTo(model.turns().at(-1), "stop by command"));
  expect(cancelled).toMatchObject({ success: false, error_code: "cancelled" });
  await pi.until(
    ({ type }) => type === "agent_end",
    pi.events.findLastIndex(({ type }) => type === "agent_start"),
  );

  const file = await pi.sessionFile();
  expect(mirrored(file, "rlm_complete").map(({ data }) => data?.error_code)).toEqual([null, "cancelled", "cancelled"]);
  await pi.prompt(model.plan("look", exec("result = [typeof one, typeof two]")));
  expect(envelopeOf(resultTo(model.turns().at(-1), "look")).result_json).toEqual(["number", "number"]);
  await pi.kill();

  // Nothing of it is taken up by a later process.
  const later = start(file);
  await later.prompt(model.plan("later"));
  expect(model.subCalls()).toEqual(["slow one", "slow two"]);
  expect(later.events.filter(({ method }) => method === "notify")).toEqual([]);
});

played(NEWEST_PI, "two interrupted calls are finished, no others of their kind; a prompt waits", async (line) => {
  await using scene = await piScene(line, { files: { "a.txt": "alpha\n" } });
  const { model, home, start } = scene;
  let pi = start();
  await pi.prompt(model.plan("load", { tool: "rlm_load", args: { path: home.project } }));
  const file = await pi.sessionFile();
  const hold = model.hold("slow");
  const cell = (name: string) => exec(`let ${name} = 1; result = await llm_query("slow ${name}", { tools: [] })`);
  // In one message: the second never began, and neither did the third, which is not ours.
  const both = model.plan("two at once", [cell("one"), cell("two"), { tool: "bash", args: { command: "echo three" } }]);
  pi.send({ type: "prompt", message: both });
  await model.until(() => model.subCalls().length === 1);
  await pi.kill();

  // The prompt is sent while the call that recovery makes anew has no answer.
  pi = start(file);
  const asked = model.turns().length;
  pi.send({ type: "prompt", message: model.plan("meanwhile"), id: "early" });
  await model.until(() => model.subCalls().length === 2);
  expect(model.turns()).toHaveLength(asked);
  hold.release();
  await pi.until(({ type }) => type === "agent_end");
  const results = [...resultsIn(model.turns().at(-1)).values()].slice(1);
  expect(envelopeOf(results[0])).toMatchObject({ success: true, result_json: "answer to slow one" });
  expect(results.slice(1)).toEqual(["No result provided", "No result provided"]);
  const notes = pi.events.filter(({ method }) => method === "notify");
  expect(notes.map(({ message }) => message)).toEqual([expect.stringContaining("rlm_exec")]);
  expect(pi.events.filter(({ type }) => type === "extension_error")).toEqual([]);
});
