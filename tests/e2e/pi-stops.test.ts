import { expect } from "vitest";
import { envelopeOf, resultsIn, resultTo } from "../support/pi/model.ts";
import { played } from "../support/pi/played.ts";
import { NEWEST_PI, type Pi, PLAYS_ALL } from "../support/pi/process.ts";
import { exec, loadedIn, mirrored, type PiScene, piScene } from "../support/pi/scene.ts";

played(NEWEST_PI, "cells that are cancelled, interrupted or left, one after the other in a session", async (line) => {
  await using scene = await piScene(line, { files: { "a.txt": "alpha\n" } });
  const { pi: first, file } = await loadedIn(scene);
  await cancelled(scene, first, file);
  const second = scene.start(file);
  await nothingTakenUp(scene, second);
  const third = await interrupted(scene, second, file);
  const others = await left(scene, third, file);
  const errors = [first, second, third, ...others].flatMap(({ events }) =>
    events.filter(({ type }) => type === "extension_error"),
  );
  expect(errors).toEqual([]);
});

/** A cancelled cell is over, whoever cancelled it. */
async function cancelled({ model }: PiScene, pi: Pi, file: string): Promise<void> {
  const waiting = (name: string) => exec(`let ${name} = 1; result = await llm_query("slow ${name}", { tools: [] })`);
  const hold = model.hold("slow by");

  // Esc in the terminal.
  pi.send({ type: "prompt", message: model.plan("stop by abort", waiting("by_abort")) });
  await model.until(() => model.subCalls().includes("slow by_abort"));
  await pi.ask("abort");
  // The command ends the cell, and the model is told.
  pi.send({ type: "prompt", message: model.plan("stop by command", waiting("by_command")) });
  await model.until(() => model.subCalls().includes("slow by_command"));
  await pi.prompt("/rlm cancel");
  await model.until(() => resultTo(model.turns().at(-1), "stop by command") !== undefined);
  const told = envelopeOf(resultTo(model.turns().at(-1), "stop by command"));
  expect(told).toMatchObject({ success: false, error_code: "cancelled" });
  await pi.until(
    ({ type }) => type === "agent_end",
    pi.events.findLastIndex(({ type }) => type === "agent_start"),
  );

  expect(mirrored(file, "rlm_complete").map(({ data }) => data?.error_code)).toEqual([null, "cancelled", "cancelled"]);
  await pi.prompt(model.plan("look", exec("result = [typeof by_abort, typeof by_command]")));
  expect(envelopeOf(resultTo(model.turns().at(-1), "look")).result_json).toEqual(["number", "number"]);
  await pi.kill();
  hold.release();
}

/** What was cancelled is not taken up by a later process. */
async function nothingTakenUp({ model }: PiScene, later: Pi): Promise<void> {
  await later.prompt(model.plan("later"));
  expect(model.subCalls()).toEqual(["slow by_abort", "slow by_command"]);
  expect(later.events.filter(({ method }) => method === "notify")).toEqual([]);
}

/** Two interrupted calls are finished, no others of their kind; a prompt waits. Answers the process that finished them. */
async function interrupted({ model, start }: PiScene, pi: Pi, file: string): Promise<Pi> {
  const before = model.subCalls().length;
  const hold = model.hold("slow");
  const cell = (name: string) => exec(`let ${name} = 1; result = await llm_query("slow ${name}", { tools: [] })`);
  // In one message: the second never began, and neither did the third, which is not ours.
  const both = [cell("begun"), cell("waits"), { tool: "bash", args: { command: "echo three" } }];
  pi.send({ type: "prompt", message: model.plan("two at once", both) });
  await model.until(() => model.subCalls().length === before + 1);
  await pi.kill();

  // The prompt is sent while the call that recovery makes anew has no answer.
  const next = start(file);
  const asked = model.turns().length;
  next.send({ type: "prompt", message: model.plan("meanwhile"), id: "early" });
  await model.until(() => model.subCalls().length === before + 2);
  expect(model.turns()).toHaveLength(asked);
  hold.release();
  await next.until(({ type }) => type === "agent_end");
  const results = [...resultsIn(model.turns().at(-1)).values()].slice(-3);
  expect(envelopeOf(results[0])).toMatchObject({ success: true, result_json: "answer to slow begun" });
  expect(results.slice(1)).toEqual(["No result provided", "No result provided"]);
  const notes = next.events.filter(({ method }) => method === "notify");
  expect(notes.map(({ message }) => message)).toEqual([expect.stringContaining("rlm_exec")]);
  return next;
}

/** A cell that Pi leaves runs on; killed at each step of it, Pi finishes it when it is back. Answers the later processes. */
async function left({ model, start }: PiScene, first: Pi, file: string): Promise<readonly Pi[]> {
  const cell = (name: string) =>
    exec(`var ${name} = []; for (const n of [1, 2]) ${name}.push(await llm_query("slow ${name} " + n))`);
  const begin = async (pi: Pi, name: string) => {
    const hold = model.hold(`slow ${name} 2`);
    pi.send({ type: "prompt", message: model.plan(`run ${name}`, cell(name)) });
    await model.until(() => model.subCalls().includes(`slow ${name} 2`));
    return hold;
  };
  const look = async (pi: Pi, name: string) => {
    await pi.prompt(model.plan(`look at ${name}`, exec(`result = ${name}`)));
    const sent = model.subCalls().filter((prompt) => prompt.startsWith(`slow ${name}`));
    return [envelopeOf(resultTo(model.turns().at(-1), `look at ${name}`)).result_json, sent.length];
  };
  const answers = (name: string) => [1, 2].map((n) => `answer to slow ${name} ${n}`);

  const one = await begin(first, "one");
  const from = first.events.length;
  await first.ask("new_session");
  await first.until(
    ({ method, statusText }) => method === "setStatus" && String(statusText).includes("rlm_exec"),
    from,
  );
  one.release();
  await first.until(({ method, message }) => method === "notify" && String(message).includes("its result waits"));
  await first.ask("switch_session", { sessionPath: file });
  expect(await look(first, "one")).toEqual([answers("one"), 2]);

  // While it runs on.
  const two = await begin(first, "two");
  await first.ask("new_session");
  await first.kill();
  two.release();
  const second = start(file);
  expect(await look(second, "two")).toEqual([answers("two"), 3]);

  // Between Pi's word that it is about to leave, and its abort.
  await second.prompt(`/fault ${JSON.stringify({ at: "event", record: "session_before_switch", side: "after" })}`);
  const three = await begin(second, "three");
  second.send({ type: "new_session" });
  expect(await second.ended).toBe("SIGKILL");
  three.release();
  const third = start(file);
  expect(await look(third, "three")).toEqual([answers("three"), 3]);
  const all = [second, third];

  if (PLAYS_ALL) {
    // Later versions abort what runs before they tell that they quit.
    const four = await begin(third, "four");
    process.kill(third.pid, "SIGTERM");
    await third.ended;
    four.release();
    const last = start(file);
    expect(await look(last, "four")).toEqual([answers("four"), 3]);
    all.push(last);
  }
  return all;
}
