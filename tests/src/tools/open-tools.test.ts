import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { run } from "../../../scripts/process.ts";
import type { SessionEvent } from "../../../src/index.ts";
import { openSession } from "../../../src/session/index.ts";
import { openTools, type SessionTools } from "../../../src/tools/open-tools.ts";
import { TOOL_HOST } from "../../support/command.ts";
import { startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";

function callerOf(tools: SessionTools) {
  return (name: string, args: unknown, options = {}) => {
    const tool = tools.find((known) => known.name === name);
    if (!tool) throw new Error(`there is no ${name}`);
    return tool.execute(args, options);
  };
}

test("a program's model loads, runs cells and sees the session; each call has its own events and its signal", async () => {
  const cwd = folderWith({ "a.txt": "alpha\nbeta\n" });
  await using tools = await openTools({ cwd }, { cwd, answerBytes: 4_000 });
  const call = callerOf(tools);
  const names = ["rlm_load", "rlm_load_append", "rlm_exec", "rlm_query", "rlm_ask", "rlm_status"];
  expect(tools.map(({ name }) => name)).toEqual(names);
  const seen: SessionEvent["kind"][] = [];
  const onProgress = ({ kind }: SessionEvent) => seen.push(kind);
  expect(await call("rlm_exec", { code: "1" })).toMatchObject({
    ...{ success: false, error_code: "context_not_loaded" },
    suggestion: "Call rlm_load first.",
  });
  // They run one after the other, in this order.
  const [loaded, found] = await Promise.all([
    call("rlm_load", { path: "." }, { onProgress }),
    call("rlm_exec", '{"code": "var kept = count(\'beta\'); kept"}'),
  ]);
  expect(loaded).toMatchObject({ success: true, stats: { document_count: 1 } });
  expect(found).toMatchObject({ success: true, result_json: 1 });
  expect(seen).toContain("checkpoint");
  await call("rlm_status", {}, { onProgress });
  const told = seen.length;
  // What the program itself does is no event of the call before.
  await tools.session.exec("1");
  const signal = AbortSignal.timeout(50);
  expect(await call("rlm_exec", { code: "for (;;);" }, { signal })).toMatchObject({ error_code: "cancelled" });
  expect(await call("rlm_exec", { code: "'x'.repeat(9000)" })).toMatchObject({
    warnings: [expect.stringMatching(/^answer_cut: result_json shows \d+ of 9000 characters/)],
  });
  expect(seen).toHaveLength(told);
  expect(await call("rlm_status", {})).toMatchObject({ context: { document_count: 1 }, unfinished: null });
  expect(await call("rlm_load", { path: "/etc/hostname" })).toMatchObject({ error_code: "path_outside_sandbox" });
  expect(await call("rlm_exec", { cod: "1" })).toMatchObject({ error_code: "invalid_argument" });
});

/** A list with so many lists in each other. */
const nested = (levels: number) => Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 0);

const cyclic: Record<string, unknown> = { code: "1" };
cyclic.self = cyclic;

test("execute never rejects, whatever a program passes, and the next call works", async () => {
  await using tools = await openTools();
  await tools.session.load({ name: "a.txt", text: "alpha" });
  const call = callerOf(tools);
  const notJson = "rlm_exec: the call has arguments that are not JSON, or that are nested too deep";
  const throwing = () => {
    throw new Error("away");
  };
  for (const args of [
    nested(100_000),
    { code: nested(100_000) },
    `{ "code": ${"[".repeat(100_000)}${"]".repeat(100_000)} }`,
    cyclic,
    { code: 1n },
    Object.defineProperty({}, "code", { get: throwing, enumerable: true }),
    new Proxy({}, { ownKeys: throwing }),
    throwing,
  ]) {
    expect(await call("rlm_exec", args)).toMatchObject({ error_code: "invalid_argument", error_message: notJson });
  }
  expect(await call("rlm_exec", { code: [nested(500)] })).toMatchObject({ error_code: "invalid_argument" });
  expect(await call("rlm_exec", null)).toMatchObject({ error_code: "invalid_argument" });
  expect(await call("rlm_exec", { code: "1" }, { signal: 1 })).toMatchObject({ error_code: "invalid_argument" });
  const options = Object.defineProperty({}, "signal", { get: throwing });
  expect(await call("rlm_exec", { code: "1" }, options)).toMatchObject({ success: false, error_message: "away" });
  const warned = once(process, "warning");
  const listened = await call("rlm_exec", { code: "1" }, { onProgress: throwing });
  expect(listened).toMatchObject({ success: true, result_json: 1 });
  expect((await warned)[0]).toMatchObject({ message: "openSession(): onProgress or onCheckpoint failed: away" });
});

test.each<[readonly unknown[], string]>([
  [[null], "the argument must be an object, and is null"],
  [[5], "the argument must be an object, and is 5"],
  [[{}, { answerByte: 2000 }], "unknown option answerByte; did you mean answerBytes?"],
  [[{}, { answerBytes: -5 }], "answerBytes must be a whole number from 1000, and is -5"],
])("what a program passes is checked: %j", async (args, problem) => {
  const opened: Promise<SessionTools> = Reflect.apply(openTools, null, args);
  await expect(opened).rejects.toMatchObject({ code: "invalid_argument", message: `openTools(): ${problem}` });
});

/** JSON and its schemas as frameworks type them. */
type JSONValue = null | string | number | boolean | { [key: string]: JSONValue | undefined } | JSONValue[];
interface FrameworkSchema {
  [word: string]: unknown;
  type?: string;
  properties?: { [name: string]: FrameworkSchema };
  required?: string[];
  enum?: unknown[];
  items?: FrameworkSchema | FrameworkSchema[];
}

test("parameters and answers have the types of frameworks, and are the program's own", async () => {
  await using tools = await openTools();
  for (const { parameters, execute } of tools) {
    const schema: FrameworkSchema = parameters;
    expect(schema).toMatchObject({ type: "object", required: expect.any(Array), additionalProperties: true });
    const answer: JSONValue = await execute(1, null);
    expect(answer).toMatchObject({ success: false });
    for (const name of Object.keys(parameters.properties)) delete parameters.properties[name];
  }
  await using others = await openTools();
  expect(Object.keys(others[2]?.parameters.properties ?? {})).toContain("code");
});

test("tools of an open session leave it open", async () => {
  await using session = await openSession();
  await session.load({ name: "a.txt", text: "alpha" });
  const tools = await openTools(session);
  expect(await callerOf(tools)("rlm_exec", { code: "var kept = P; kept" })).toMatchObject({ result_json: "alpha" });
  await tools[Symbol.asyncDispose]();
  expect(await session.exec("kept")).toMatchObject({ result_json: "alpha" });
});

test("after a kill the same call goes on, and no recorded answer is asked for again", async () => {
  const third = Promise.withResolvers<void>();
  const server = await startModelServer(async ({ prompt, index }) => {
    if (prompt === "three" && index === 2) {
      third.resolve();
      return { end: "stuck" };
    }
    return { text: prompt.toUpperCase() };
  });
  onTestFinished(() => server.close());
  const cwd = folderWith({ "a.txt": "alpha\n" });
  const cell =
    "var said = []; for (const word of ['one', 'two', 'three']) said.push(await llm_query(word, { tools: [] })); said";
  const exec = ["rlm_exec", { code: cell }];
  const typed = (calls: unknown) => [...TOOL_HOST, join(cwd, "store"), server.url, JSON.stringify(calls)];
  const env = { ...process.env, K: "key" };
  const host = spawn(process.execPath, typed([["rlm_load", { path: "a.txt" }], exec]), { cwd, env, stdio: "ignore" });
  await third.promise;
  host.kill("SIGKILL");
  await once(host, "exit");
  const { stdout, output } = await run(process.execPath, typed([exec, ["rlm_exec", { code: "said.length" }]]), {
    cwd,
    env,
  });
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(answers, output).toMatchObject([{ success: true, result_json: ["ONE", "TWO", "THREE"] }, { result_json: 3 }]);
  expect(server.requests.map(({ prompt }) => prompt)).toEqual(["one", "two", "three", "three"]);
});

test.each(["options", "a session"])("the model is told of the functions that %s lends", async (given) => {
  const lookUp = { description: "Looks up.", parameters: {}, effects: "none", run: () => "found" } as const;
  const options = { functions: { lookUp } };
  await using session = await openSession(options);
  await using tools = await openTools(given === "options" ? options : session);
  await tools.session.load({ name: "a.txt", text: "alpha" });
  const told = tools.filter(({ description }) => description.includes("lookUp(args) — Looks up."));
  expect(told.map(({ name }) => name)).toEqual(["rlm_exec"]);
  expect(await callerOf(tools)("rlm_exec", { code: "await lookUp({})" })).toMatchObject({ result_json: "found" });
});
