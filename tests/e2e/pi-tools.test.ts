import { join } from "node:path";
import { expect } from "vitest";
import { envelopeOf, type PlannedCall, resultTo, subCallAnswer, toolsIn } from "../support/pi/model.ts";
import { played } from "../support/pi/played.ts";
import { entriesIn, NEWEST_PI } from "../support/pi/process.ts";
import { exec, piScene } from "../support/pi/scene.ts";

const FILES = {
  "guide.md": "# Guide\n\nTODO: write the guide\n",
  "src/main.ts": "// TODO: parse arguments\nexport const main = () => 1;\n",
  "src/log.ts": "// TODO: rotate\nexport const log = () => 2;\n",
};

played(NEWEST_PI, "a model loads, runs cells, meets errors and queries", async (line) => {
  await using scene = await piScene(line, { files: FILES });
  const { model, home, start } = scene;
  const pi = start();
  /** Has the model make these calls, one turn each, and answers what it is told of each. */
  async function calls(...planned: readonly PlannedCall[]) {
    const prompt = model.plan(`do step ${model.turns().length}`, ...planned);
    await pi.prompt(prompt);
    const request = model.turns().at(-1);
    return planned.map((_, n) => envelopeOf(resultTo(request, prompt, n)));
  }

  const [early] = await calls(exec("P.length"));
  expect(early).toMatchObject({ success: false, error_code: "context_not_loaded" });
  expect(toolsIn(model.turns()[0])).toEqual(expect.arrayContaining([...TOOLS]));

  const [outside, load] = await calls(
    { tool: "rlm_load", args: { path: "/etc" } },
    { tool: "rlm_load", args: { path: "src" } },
  );
  const suggestion = "Use a path within the roots, or ask the user to add the folder to roots in belay.json.";
  expect(outside).toMatchObject({ success: false, error_code: "path_outside_sandbox", suggestion });
  expect(load).toMatchObject({ success: true, stats: { document_count: 2 } });
  const [appended] = await calls({ tool: "rlm_load_append", args: { path: join(home.project, "guide.md") } });
  expect(appended).toMatchObject({ success: true, stats: { document_count: 3 } });

  const [first, wrong, second] = await calls(
    exec(`let found = find("TODO").matches; print("found", found.length); result = found.length`),
    exec(`print("before"); found.push(1); undefinedName + 1`),
    exec("result = [found.length, typeof P]"),
  );
  expect(first).toMatchObject({ success: true, stdout: "found 3\n", result_json: 3 });
  expect(wrong).toMatchObject({ success: false, error_code: "js_error", stdout: "before\n" });
  expect(wrong?.error_message).toContain("undefinedName");
  expect(second).toMatchObject({ success: true, result_json: [4, "string"] });

  const [asked, queried, clipped] = await calls(
    exec(`result = await llm_query("what is P?", { tools: [] })`),
    { tool: "rlm_query", args: { prompt: "list every TODO", max_sections: 2 } },
    exec(`print("x".repeat(200)); for (;;) {}`, { max_output_bytes: 50, max_execution_ms: 300 }),
  );
  expect(asked).toMatchObject({ success: true, result_json: subCallAnswer("what is P?") });
  expect(queried).toMatchObject({ success: true, budget: { remaining_sub_calls: expect.any(Number) } });
  expect(queried?.answer).toEqual(expect.any(String));
  expect(clipped).toMatchObject({ success: false, error_code: "js_timeout", truncated: true });
  expect(model.subCalls().length).toBeGreaterThan(2);
  // What one prompt has spent, the next one has again.
  const [clean] = await calls(exec("result = budget().remaining_sub_calls"));
  expect(clean).toMatchObject({ success: true, result_json: 50 });

  // What failed shows as an error to people and, later, to the model.
  const file = await pi.sessionFile();
  const results = entriesIn(file).flatMap(({ message }) => (message?.role === "toolResult" ? [message] : []));
  for (const { isError, content } of results) {
    const { success } = envelopeOf(JSON.parse(JSON.stringify(content))[0].text);
    expect(isError, JSON.stringify(content)).toBe(!success);
  }
  expect(results.filter(({ isError }) => isError)).toHaveLength(4);
  expect(pi.events.filter(({ type }) => type === "extension_error" || type === "not_json")).toEqual([]);
  // The tests' extension writes what is announced.
  expect(pi.stderr().replaceAll(/^rlm:query:.*\n/gm, "")).toBe("");
});

const TOOLS = [
  ...["rlm_load", "rlm_load_append", "rlm_exec", "rlm_query", "rlm_batch", "rlm_extract", "rlm_ask"],
  ...["rlm_peek", "rlm_search", "rlm_stats"],
  ...["rlm_helpers_add", "rlm_helpers_list", "rlm_helpers_remove"],
  ...["rlm_memory_put", "rlm_memory_get", "rlm_memory_batch", "rlm_memory_list", "rlm_memory_clear"],
];
