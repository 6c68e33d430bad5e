import { expect } from "vitest";
import { killedAt } from "../support/pi/kill.ts";
import { envelopeOf, resultTo } from "../support/pi/model.ts";
import { played } from "../support/pi/played.ts";
import { NEWEST_PI } from "../support/pi/process.ts";
import { exec, loadedIn, mirrored, piScene } from "../support/pi/scene.ts";

const COUNT = 11;
const small = (at: number) => `part ${at}: the word is bird${at}\n`;
const names = Array.from({ length: COUNT }, (_, at) => `f${at + 10}.txt`);
/** About 60,000 tokens. */
const LARGE = `${"filler line\n".repeat(20_000)}the last word is heron\n`;
const FILES = { ...Object.fromEntries(names.map((name, at) => [name, small(at)])), "large.txt": LARGE };

/** Answers with the word in the text that stands in the prompt. */
const says = (prompt: string) =>
  JSON.stringify({ answer: /word is (\w+)/.exec(prompt)?.[1] ?? "none", confidence: "high", evidence: [] });

played(NEWEST_PI, "texts that models read: nothing is asked twice, and a child goes on where it was", async (line) => {
  await using scene = await piScene(line, { files: FILES, says });
  const { model, start } = scene;
  const { pi: first, file } = await loadedIn(scene);
  void first
    .until(({ method }) => method === "confirm")
    .then(({ id }) => first.send({ type: "extension_ui_response", id, confirmed: true }));
  const batch = { tool: "rlm_batch", args: { instructions: "Which word?", targets: [...names, "none.txt"] } };
  const fourth = { at: "commit", record: "rlm_tool_result", side: "after", nth: 4 } as const;
  await killedAt(scene, first, { by: fourth }, { prompt: "read them", call: batch, subCalls: 0 });
  const [question] = first.events.filter(({ method }) => method === "confirm");
  expect(question).toMatchObject({ title: "Have models read 11 objects?" });

  const second = start(file);
  const asked = "Which is the last word?";
  model.planAsk(
    `About P: large.txt:\n\n${asked}`,
    "var found = find('last word is (.*)').matches; print(found.length)",
    ANSWER,
  );
  const query = { tool: "rlm_query", args: { prompt: asked, target: "large.txt" } };
  // The child's first turn and the second one's request are recorded.
  const inChild = { at: "commit", record: "rlm_tool_call", side: "after", nth: 3 } as const;
  await killedAt(scene, second, { by: inChild }, { prompt: "read it", call: query, subCalls: 0 });

  const third = start(file);
  const heard = model.plan(
    "what was said?",
    { tool: "rlm_extract", args: { instructions: "Which word?", target: "history/0001-user", name: "first" } },
    { tool: "rlm_query", args: { prompt: "Both?", target: names.slice(-2) } },
    exec("result = [memory.get('artifact/first').confidence, history.find('heron').matches.length > 0]"),
  );
  await third.prompt(heard);
  const last = model.turns().at(-1);
  const told = (prompt: string, n = 0) => envelopeOf(resultTo(last, prompt, n));
  expect(told("read them")).toMatchObject({ success: true, answered: COUNT, failed: 1, resumed: 1 });
  expect(told("read it")).toMatchObject({ success: true, answer: "heron", confidence: "high", name: "P: large.txt" });
  expect(told(heard)).toMatchObject({ success: true, key: "artifact/first" });
  expect(told(heard, 1)).toMatchObject({ success: true, answer: "bird9", name: "P: f19.txt, P: f20.txt" });
  expect(told(heard, 2)).toMatchObject({ success: true, result_json: ["high", true] });
  const ofBatch = model.subCalls().filter((prompt) => prompt.includes("Which word?"));
  const times = names.map((_, at) => ofBatch.filter((prompt) => prompt.includes(small(at))).length);
  expect(times.filter((count) => count > 2)).toEqual([]);
  expect(times.filter((count) => count === 1).length).toBeGreaterThanOrEqual(4);
  expect(model.rootTurns().map(({ body }) => body.messages.length)).toEqual([2, 4]);
  const confirms = [second, third].flatMap(({ events }) => events.filter(({ method }) => method === "confirm"));
  expect(confirms).toEqual([]);
  const kinds = mirrored(file, "rlm_complete").map(({ data }) => data?.kind);
  expect(kinds).toEqual(["load", "query", "query", "query", "memory", "query", "cell"]);
  expect(
    [first, second, third].flatMap(({ events }) => events.filter(({ type }) => type === "extension_error")),
  ).toEqual([]);
});

const ANSWER = "answer({ answer: P.slice(...found[0]).split(' ').at(-1), confidence: 'high', evidence: [] })";
