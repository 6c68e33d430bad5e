import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { builtins } from "../../../builtins/index.ts";
import { roundedIn } from "../../../runtime/index.ts";
import { TOOLS_BUDGET, toolTokens } from "../../../scripts/docs/agent-tools.ts";
import { openSession } from "../../../src/index.ts";
import type { Session } from "../../../src/session/index.ts";
import type { RecordedCall, ToolEnvelope } from "../../../src/tools/index.ts";
import { tools } from "../../../src/tools/pi-tools.ts";
import { cellDescription } from "../../../src/tools/rlm_exec.ts";
import { folderWith } from "../../support/tree.ts";

const NAMES = [
  ...["rlm_load", "rlm_load_append", "rlm_ingest", "rlm_exec", "rlm_query", "rlm_batch", "rlm_extract", "rlm_ask"],
  "rlm_workflow",
  ...["rlm_peek", "rlm_search", "rlm_stats", "rlm_helpers_add", "rlm_helpers_list", "rlm_helpers_remove"],
  ...["rlm_memory_put", "rlm_memory_get", "rlm_memory_batch", "rlm_memory_list", "rlm_memory_clear"],
];

const never = new AbortController().signal;

function toolNamed(name: string) {
  const tool = tools.find((known) => known.name === name);
  if (!tool) throw new Error(`no tool ${name}`);
  return tool;
}

/** Calls tools over one session of a project with these files. */
async function openProject(): Promise<{
  readonly folder: string;
  call(name: string, args: unknown, signal?: AbortSignal): Promise<ToolEnvelope>;
  readonly session: Session;
}> {
  const folder = folderWith({ "a.txt": "alpha beta alpha\n", "more/b.txt": "gamma\n" });
  const session = await openSession({ cwd: folder, roots: [folder], limits: { max_execution_ms: 20_000 } });
  onTestFinished(() => session.close());
  return {
    folder,
    session,
    call: (name, args, signal = never) =>
      toolNamed(name).run(async () => session, args, { cwd: folder, signal, suspend: never }),
  };
}

test("the tools are those of the specification, each with words for the model", () => {
  expect(tools.map(({ name }) => name)).toEqual(NAMES);
  for (const { name, label, description, promptSnippet, parameters } of tools) {
    expect(label, name).toMatch(/^RLM /);
    expect(promptSnippet, name).not.toContain("\n");
    expect(description.length, name).toBeGreaterThan(10);
    expect(parameters.type, name).toBe("object");
  }
});

test("parameters are those of the specification", () => {
  /** The parameters in their order, with a question mark behind those that may be left out. */
  const shape = (name: string) => {
    const { required = [], properties } = toolNamed(name).parameters;
    const needed: readonly string[] = required;
    return Object.keys(properties)
      .map((key) => (needed.includes(key) ? key : `${key}?`))
      .join(" ");
  };
  expect(Object.fromEntries(NAMES.map((name) => [name, shape(name)]))).toEqual({
    ...{
      rlm_load: "path raw? encoding?",
      rlm_load_append: "path raw? encoding?",
      rlm_ingest: "paths",
      rlm_exec: "code limits_override?",
    },
    rlm_query: "prompt? instructions? target? model? max_sections? search_strategy?",
    ...{ rlm_batch: "instructions targets model?", rlm_extract: "instructions target name" },
    ...{ rlm_ask: "question max_turns?", rlm_peek: "id offset? length?", rlm_search: "pattern scope?" },
    ...{ rlm_stats: "", rlm_helpers_add: "name code", rlm_helpers_list: "", rlm_helpers_remove: "name" },
    ...{ rlm_memory_put: "key value", rlm_memory_get: "key", rlm_memory_batch: "ops", rlm_memory_list: "" },
    ...{ rlm_memory_clear: "", rlm_workflow: "script? name? args?" },
  });
  const { limits_override } = toolNamed("rlm_exec").parameters.properties;
  const type = "integer";
  const properties = { max_output_bytes: { type }, max_execution_ms: { type }, max_find_results: { type } };
  expect(JSON.parse(JSON.stringify(limits_override))).toMatchObject({ properties });
  const { search_strategy } = toolNamed("rlm_query").parameters.properties;
  const strategies = ["regex", "bm25", "routing", "auto"];
  expect(search_strategy).toMatchObject({ type: "string", enum: strategies, default: "auto" });
});

test("all texts of the tools take at most 2,650 tokens of a request, those of rlm_ask 150, of rlm_ingest 90 and those over the conversation 300, and rlm_exec names every builtin", () => {
  // Hosts show it only to users who want workflows.
  const usual = tools.filter(({ name }) => name !== "rlm_workflow");
  const total = usual.reduce((sum, tool) => sum + toolTokens(tool), 0);
  expect(toolTokens(toolNamed("rlm_workflow"))).toBeLessThanOrEqual(330);
  expect(TOOLS_BUDGET).toBe(2_650);
  expect(total).toBeLessThanOrEqual(TOOLS_BUDGET);
  expect(toolTokens(toolNamed("rlm_ask"))).toBeLessThanOrEqual(150);
  expect(toolTokens(toolNamed("rlm_ingest"))).toBeLessThanOrEqual(90);
  const overConversation = ["rlm_peek", "rlm_search", "rlm_stats"].map((name) => toolTokens(toolNamed(name)));
  expect(overConversation.reduce((sum, tokens) => sum + tokens, 0)).toBeLessThanOrEqual(300);
  const { description } = toolNamed("rlm_exec");
  for (const { name } of builtins) {
    // Only scripts of runs have a job, and people write them. Functions are a program's own.
    if (name !== "job" && name !== "functions") expect(description).toContain(name);
  }
  expect(description).not.toContain("job");
});

test("guidance stands with the tools, and names only tools that there are", () => {
  const guidance = tools.flatMap(({ name, guidelines }) => guidelines.map((line) => ({ name, line })));
  const guided = ["rlm_load", "rlm_exec", "rlm_query", "rlm_batch", "rlm_search", "rlm_search"];
  expect(guidance.map(({ name }) => name)).toEqual(guided);
  for (const { name, line } of guidance) {
    expect(line).not.toContain("\n");
    const named = line.match(/rlm_\w+/g) ?? [];
    expect(named, line).toContain(name);
    expect(NAMES, line).toEqual(expect.arrayContaining(named));
    const { guidelines, ...bare } = toolNamed(name);
    expect(toolTokens(toolNamed(name)) - toolTokens({ ...bare, guidelines: [] })).toBeGreaterThanOrEqual(
      Math.floor(guidelines.join("").length / 4),
    );
  }
});

test("rlm_exec tells the dialect of find and the usual limits, and names no type that it does not explain", () => {
  const { description } = toolNamed("rlm_exec");
  expect(description).toContain("no lookaround");
  expect(description).toContain("flags i m s");
  expect(description).toContain("30 s");
  expect(description).toContain("50 sub-calls");
  const named = Array.from(description.matchAll(/(?:: |<|& )([A-Z]\w+)/g), ([, name]) => name);
  expect(named).toContain("SearchHit");
  const unexplained = named.filter((name) => !new RegExp(`^${name} (?:=|\\{)`, "m").test(description));
  expect(new Set(unexplained)).toEqual(new Set(["Promise"]));
});

test("one more builtin takes fewer than 8 tokens", () => {
  const [peek] = builtins.filter(({ name }) => name === "peek");
  const added = peek ? [...builtins, { ...peek, name: "count_lines" }] : [];
  const more = cellDescription(false, added).length - cellDescription().length;
  expect(more).toBeGreaterThan(0);
  expect(more / 4).toBeLessThan(8);
});

test("a failure has every field of a success", async () => {
  const { call, folder } = await openProject();
  const calls: [name: string, args: object][] = [
    ["rlm_load", { path: folder }],
    ["rlm_load_append", { path: join(folder, "a.txt") }],
    ["rlm_exec", { code: "1" }],
    ["rlm_helpers_add", { name: "h", code: "const h = 1;" }],
    ["rlm_helpers_list", {}],
    ["rlm_helpers_remove", { name: "h" }],
    ["rlm_memory_put", { key: "k", value: 1 }],
    ["rlm_memory_get", { key: "k" }],
    ["rlm_memory_batch", { ops: [{ op: "get", key: "k" }] }],
    ["rlm_memory_list", {}],
    ["rlm_memory_clear", {}],
    ["rlm_workflow", { script: 'export const meta = { name: "w", description: "a trial" };\nreturn 1;' }],
  ];
  const failure = { code: "machine_lost", message: "it is gone", suggestion: "Call it again." };
  for (const [name, args] of calls) {
    const answer = await call(name, args);
    expect(answer.success, name).toBe(true);
    expect(Object.keys(toolNamed(name).failed(failure)), name).toEqual(expect.arrayContaining(Object.keys(answer)));
  }
  const refused = Object.keys(toolNamed("rlm_query").failed(failure));
  expect(refused).toEqual(expect.arrayContaining(["answer", "sections", "budget", "exec_id", "search_strategy_used"]));
});

test("a put of nothing is refused, and nothing of its batch is done", async () => {
  const { call } = await openProject();
  const ops = [
    { op: "put", key: "a", value: null },
    { op: "put", key: "b" },
  ];
  expect(await call("rlm_memory_batch", { ops })).toMatchObject({
    success: false,
    error_code: "invalid_argument",
    error_message: 'rlm_memory_batch: the put of "b" has no value',
    results: [],
  });
  expect(await call("rlm_memory_put", { key: "b" })).toMatchObject({ error_code: "invalid_argument" });
  expect(await call("rlm_memory_list", {})).toMatchObject({ keys: [] });
});

test("a number that was rounded on its way is refused, and its digits as a string are kept", async () => {
  const { call } = await openProject();
  const value = { user: { id: JSON.parse("1234567890123456789") } };
  const error_message = "value.user.id is 1234567890123456800, and whole numbers beyond 2^53 are rounded";
  const refused = { success: false, error_code: "invalid_argument", suggestion: "Pass its digits as a string." };
  const ops = [{ op: "put", key: "k", value }];
  for (const [name, args] of Object.entries({ rlm_memory_put: { key: "k", value }, rlm_memory_batch: { ops } })) {
    expect(await call(name, args)).toMatchObject({ ...refused, error_message: `${name}: ${error_message}` });
  }
  for (const kept of ["1234567890123456789", 1e20, 2 ** 53 - 1, 1.7976931348623157e308]) {
    expect(await call("rlm_memory_put", { key: "k", value: kept })).toMatchObject({ success: true });
  }
});

test("the patterns that rlm_exec shows run as they stand", async () => {
  const { call, folder } = await openProject();
  await call("rlm_load", { path: folder });
  const [, counting = ""] = toolNamed("rlm_exec").description.split("keep the rest for later:\n");
  const result_json = { count: 0, capped: false, first: [] };
  expect(await call("rlm_exec", { code: counting })).toMatchObject({ success: true, result_json });
});

test("a project is loaded, explored, and kept in memory and helpers", async () => {
  const { call, folder, session } = await openProject();
  const stats = { document_count: 1, sources: [join(folder, "a.txt")] };
  expect(await call("rlm_load", { path: join(folder, "a.txt") })).toMatchObject({ success: true, stats });
  expect(await call("rlm_load_append", { path: "more" })).toMatchObject({
    success: true,
    stats: { document_count: 2, sources: [join(folder, "a.txt"), join(folder, "more")] },
  });
  expect(
    await call("rlm_helpers_add", { name: "counting", code: "function count(p) { return find(p).matches.length }" }),
  ).toEqual({ success: true, name: "counting" });
  const cell = {
    code: "print('seen'); result = count('alpha'); result_meta = { page: 1 }",
    limits_override: { max_find_results: 5, max_execution_ms: 90_000, max_output_bytes: 60_000 },
  };
  // The user's own limit is the most; where the user has set none, policy has the last word.
  const limits_applied = { max_find_results: 5, max_execution_ms: 20_000, max_output_bytes: 60_000 };
  expect(await call("rlm_exec", cell)).toMatchObject({
    ...{ success: true, stdout: "seen\n", result_json: 2, result_meta: { page: 1 } },
    ...{ limits_applied, session_id: session.id },
  });
  expect(await call("rlm_memory_put", { key: "k", value: { x: [1, null] } })).toEqual({ success: true, key: "k" });
  expect(await call("rlm_memory_get", { key: "k" })).toEqual({ success: true, key: "k", value: { x: [1, null] } });
  expect(await call("rlm_memory_get", { key: "none" })).toEqual({ success: true, key: "none", value: null });
  expect(await call("rlm_memory_list", {})).toEqual({ success: true, keys: ["k"] });
  const ops = [
    { op: "put", key: "a", value: 1 },
    { op: "get", key: "a" },
    { op: "get", key: "none" },
  ];
  expect(await call("rlm_memory_batch", { ops })).toEqual({
    success: true,
    results: [
      { op: "put", key: "a", ok: true },
      { op: "get", key: "a", value: 1 },
      { op: "get", key: "none", value: null },
    ],
  });
  expect(await call("rlm_memory_clear", {})).toEqual({ success: true });
  expect(await call("rlm_memory_list", {})).toEqual({ success: true, keys: [] });
  expect(await call("rlm_helpers_list", {})).toMatchObject({ success: true, helpers: [{ name: "counting" }] });
  expect(await call("rlm_helpers_remove", { name: "counting" })).toMatchObject({ removed: true });
  expect(await call("rlm_helpers_remove", { name: "counting" })).toMatchObject({ success: true, removed: false });
});

test("raw loads a page as it is, and without it as its text", async () => {
  const { folder, call } = await openProject();
  const path = join(folder, "a.html");
  writeFileSync(path, "<h1>Big</h1>");
  const text = async () => (await call("rlm_exec", { code: "P.slice(0)" })).result_json;
  await call("rlm_load", { path });
  expect(await text()).toBe("# Big\n\n");
  await call("rlm_load", { path, raw: true });
  expect(await text()).toBe("<h1>Big</h1>");
  writeFileSync(path, "<h1>Bigger</h1>");
  await call("rlm_load_append", { path: "a.html", raw: true });
  expect(await text()).toMatch(/^<h1>Big<\/h1>\s+===== APPENDED: .* =====\s+<h1>Bigger<\/h1>$/);
});

test("what goes wrong is an envelope with a code and a cure", async () => {
  const { call, folder } = await openProject();
  expect(await call("rlm_exec", { code: "1" })).toMatchObject({
    ...{ success: false, error_code: "context_not_loaded", suggestion: "Call rlm_load first." },
    ...{ stdout: "", stderr: "", warnings: [] },
  });
  expect(await call("rlm_query", { prompt: "?" })).toMatchObject({ error_code: "context_not_loaded" });
  expect(await call("rlm_ask", { question: "?" })).toMatchObject({ error_code: "context_not_loaded", answer: null });
  expect(await call("rlm_load", { path: "../elsewhere" })).toMatchObject({ error_code: "path_outside_sandbox" });
  expect(await call("rlm_load", { path: "" })).toMatchObject({ error_code: "invalid_argument" });
  expect(await call("rlm_load", { path: "/" })).toMatchObject({ error_code: "path_outside_sandbox" });
  expect(await call("rlm_load", { path: join(folder, "gone") })).toMatchObject({ error_code: "path_not_found" });
  const suggestion = "Parameters are path, raw, encoding.";
  expect(await call("rlm_load", { paths: [folder] })).toMatchObject({ error_code: "invalid_argument", suggestion });
  const told = await call("rlm_memory_batch", { ops: [{ op: "drop", key: "a" }] });
  expect(told).toMatchObject({ error_code: "invalid_argument", error_message: expect.stringContaining("ops.0.op") });
  expect(await call("rlm_exec", { code: "1", limit_override: {} })).toMatchObject({
    error_code: "invalid_argument",
    error_message: "rlm_exec: unknown limit_override; did you mean limits_override?",
    suggestion: "Parameters here are code, limits_override.",
  });
  expect(await call("rlm_exec", { code: "1", limits_override: { max_execution: 5 } })).toMatchObject({
    error_code: "invalid_argument",
    error_message: "rlm_exec: limits_override: unknown max_execution; did you mean max_execution_ms?",
  });
  await call("rlm_load", { path: folder });
  expect(await call("rlm_exec", { code: "missing" })).toMatchObject({
    ...{ success: false, error_code: "js_error", result_json: null },
    error_message: "ReferenceError: missing is not defined",
  });
  expect(await call("rlm_helpers_add", { name: "bad", code: "(" })).toMatchObject({ success: false });
  expect(await call("rlm_query", { prompt: " " })).toMatchObject({ error_code: "invalid_argument" });
  expect(await call("rlm_ask", { question: " " })).toMatchObject({ error_code: "invalid_argument", citations: [] });
  expect(await call("rlm_ask", { question: "?", max_turns: 0 })).toMatchObject({ error_code: "invalid_argument" });
});

const NOTHING = { envelope: null, query: null, input: null, stats: null, ingested: null };

test("a batch whose process is gone is answered as the process would have", async () => {
  const { call, session } = await openProject();
  const key = fc.constantFrom("a", "b", "constructor");
  // A whole number that a reader of JSON has rounded is refused before the batch runs.
  const value = fc.jsonValue({ maxDepth: 1 }).filter((json) => roundedIn(JSON.parse(JSON.stringify(json))) === null);
  const op = fc.oneof(
    fc.record({ op: fc.constant("put"), key, value }),
    fc.record({ op: fc.constantFrom("get", "delete"), key }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(op, { maxLength: 6 }), async (given) => {
      const ops = JSON.parse(JSON.stringify(given));
      const memory = Object.fromEntries(
        await Promise.all(
          (await session.memory.list()).map(async (held) => [held, await session.memory.get(held)] as const),
        ),
      );
      const record: RecordedCall = { ...NOTHING, before: { memory, helpers: [] } };
      const recorded = await toolNamed("rlm_memory_batch").recorded({ ops }, record);
      expect(recorded).toEqual(await call("rlm_memory_batch", { ops }));
    }),
    { numRuns: 10 },
  );
});

test("other changes are answered from their records too; reads are none", async () => {
  const before = { memory: {}, helpers: [{ name: "h", code: "" }] };
  const record: RecordedCall = { ...NOTHING, envelope: { success: true, stdout: "x" }, before };
  const answers = await Promise.all(
    tools.map(async (tool) => [
      tool.name,
      await tool.recorded(
        { path: "/p", paths: ["/p"], code: "", name: "h", key: "k", value: 1, prompt: "?", ops: [] },
        record,
      ),
    ]),
  );
  expect(Object.fromEntries(answers)).toEqual({
    ...{ rlm_load: { success: true, stats: null }, rlm_load_append: { success: true, stats: null } },
    rlm_ingest: { success: true, added: 0, already: 0, objects: [], stats: null },
    ...{ rlm_exec: { success: true, stdout: "x" }, rlm_query: { success: true, stdout: "x" }, rlm_batch: null },
    ...{ rlm_extract: null, rlm_ask: null, rlm_peek: null, rlm_search: null, rlm_stats: null },
    ...{ rlm_helpers_add: { success: true, name: "h" }, rlm_helpers_list: null },
    rlm_helpers_remove: { success: true, name: "h", removed: true },
    ...{ rlm_memory_put: { success: true, key: "k" }, rlm_memory_get: null },
    ...{ rlm_memory_batch: { success: true, results: [] }, rlm_memory_list: null },
    rlm_memory_clear: { success: true },
    rlm_workflow: { success: true, stdout: "x" },
  });
});
