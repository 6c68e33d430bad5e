import { join } from "node:path";
import { expect, test } from "vitest";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { belay, finished, hasTerminal, json, startOnTerminal } from "./belay.ts";
import { belayHere, signalledHere } from "./in-process.ts";

const KEY = "fake-key-4711-of-the-tests";
const CALL = 'await llm_query("hi", { tools: [] })';

/** Options that lead to this server. */
const at = ({ url }: ModelServer) => ["--quiet", "--model", "local/scripted", "--base-url", url];
const cell = (code: string) => ["exec", "-e", code];
test("an answer is printed, and the key is sent but never shown", async () => {
  const denial = { status: 401, body: JSON.stringify({ error: { message: `bad key ${KEY}` } }) };
  // The SDK would print on stderr what it cannot parse.
  const answers = [{ body: "data: {no json\n\n" }, { text: "hello" }];
  await using server = await startModelServer(({ prompt }) => (prompt === "deny" ? denial : (answers.shift() ?? {})));
  const env = { MY_KEY: KEY };
  const flags = [...at(server), "--api-key-env", "MY_KEY"];
  const failing = 'await llm_query("deny", { tools: [] })';
  const [text, denied, unset] = await Promise.all([
    belayHere([...cell(CALL), ...flags, "-q"], { env }),
    belayHere([...cell(failing), ...flags, "--json"], { env }),
    belayHere([...cell(CALL), ...flags]),
  ]);
  expect(text).toEqual({ code: 0, stdout: "hello\n", stderr: "" });
  expect(json(denied)).toMatchObject({ success: false, error_code: "auth_failed" });
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill(`Bearer ${KEY}`));
  expect(JSON.stringify([text, denied])).not.toContain(KEY);
  expect(unset.stderr).toContain("the environment variable MY_KEY is not set");
});

test("stdout has the answer alone, whatever the SDK of a provider logs", async () => {
  await using server = await startModelServer(() => ({ text: "hello" }));
  const noisy = new URL("../../support/noisy-sdk.js", import.meta.url).href;
  const env = { NODE_OPTIONS: `--import=${noisy}` };
  const run = await belay([...cell(CALL), ...at(server)], { env });
  expect(run).toMatchObject({ code: 0, stdout: "hello\n" });
  expect(run.stderr).toContain("log of an SDK");
});

test("answers of a batch that are errors are told, and what a cell has caught is not", async () => {
  const denial = { status: 401, body: JSON.stringify({ error: { message: "bad key" } }) };
  await using server = await startModelServer(({ prompt }) => (prompt === "deny" ? denial : {}));
  const batch = '(await llm_query_batch(["hi", "deny"], { tools: [] })).results.length';
  const caught = 'await llm_query("deny", { tools: [] }).catch(({ code }) => code)';
  const [told, quiet] = await Promise.all([batch, caught].map((code) => belayHere([...cell(code), ...at(server)])));
  expect(told).toMatchObject({ code: 3, stdout: "2\n" });
  expect(told?.stderr).toMatch(/^warning: 1 of 2 sub-calls of llm_query_batch failed: .*bad key/);
  expect(quiet).toEqual({ code: 0, stdout: "auth_failed\n", stderr: "" });
});

test("a cell cannot name a model of another provider whose key is there, unless the user names it", async () => {
  const named = (call: string, more = "") => cell(`await ${call}("hi", { model: "openai/gpt-6-sol"${more} })`);
  const env = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "" };
  const model = ["--model", "anthropic/claude-sonnet-5", "--json"];
  const home = folderWith({ "config.json": '{ "model": "openai/gpt-6-sol" }' });
  const cwd = folderWith({ "in.jsonl": "1\n", "s.js": named("llm_query")[2] ?? "" });
  const batch = belayHere(["batch", "s.js", "--jobs", "in.jsonl", ...model.slice(0, 2), "--out", "-"], { cwd, env });
  const [asked, explored, listed, usual] = await Promise.all([
    belayHere([...named("llm_query"), ...model], { env }),
    belayHere([...named("rlm_query", ', context: "text"'), ...model], { env }),
    belayHere([...named("llm_query"), ...model, "--models", "mistral/a,openai/*"], { env }),
    belayHere([...named("llm_query"), ...model], { env, home }),
  ]);
  const refusal = { error_code: "policy_violation", error_name: "PolicyViolationError" };
  expect(json(asked)).toMatchObject({ ...refusal, suggestion: expect.stringContaining("`--models openai/gpt-6-sol`") });
  expect(json(explored)).toMatchObject(refusal);
  expect((await batch).stdout).toContain('"error_code":"policy_violation"');
  // They get as far as the key, which is missing.
  expect(json(listed)).toMatchObject({ error_code: "no_model_configured" });
  expect(json(usual)).toMatchObject({ error_code: "no_model_configured" });
});

test("without a model the message says the flag, and a query does not begin", async () => {
  const [run, query] = await Promise.all([belayHere(cell(CALL)), belayHere(["query", "why", "-c", "nowhere"])]);
  expect(run).toMatchObject({ code: 1, stdout: "" });
  expect(run.stderr).toMatch(
    /^SubAgentError: no model is configured.*\n.*\nsuggestion: Set the key of a provider \(ANTHROPIC_API_KEY, .*`--base-url URL`/,
  );
  expect(query).toMatchObject({ code: 1, stdout: "" });
  expect(query.stderr).toMatch(
    /^error: no model is configured \(no_model_configured\)\nsuggestion: Set the key of a provider \(ANTHROPIC_API_KEY, .*`--base-url URL`/,
  );
});

test("a project's file that grants something ends the run before anything is done", async () => {
  const cwd = folderWith({ "belay.config.json": '{ "base_url": "http://127.0.0.1:1/v1" }' });
  const [full, repl, query] = await Promise.all([
    belayHere([...cell("1"), "--json"], { cwd }),
    belayHere(["repl"], { cwd, input: "1\n" }),
    belayHere(["query", "why", "-c", "."], { cwd }),
  ]);
  for (const run of [repl, query]) {
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toContain(`${join(cwd, "belay.config.json")}: a project may not set base_url`);
    expect(run.stderr).toContain("as BELAY_BASE_URL, or with a flag.");
  }
  expect(json(full)).toMatchObject({ success: false, error_code: "invalid_config" });
});

test("the options are the budget of the session", async () => {
  await using server = await startModelServer(({ prompt }) => ({ text: "ok", delayMs: prompt === "slow" ? 5000 : 99 }));
  const six =
    'const { results } = await llm_query_batch(["1", "2", "3", "4", "5", "6"], { tools: [] }); results.length';
  const refused = `try { ${CALL}; ${CALL}; ${CALL} } catch ({ name, code }) { result = [name, code] }`;
  const narrow = await belayHere([...cell(six), ...at(server), "--concurrency", "2"]);
  expect([narrow.stdout, server.peak]).toEqual(["6\n", 2]);
  // Only a model with a price can have a limit of cost.
  const cost = { input: 1, output: 5, cacheRead: 0, cacheWrite: 0 };
  const mine = { baseUrl: server.url, api: "openai-completions", apiKey: KEY, models: [{ id: "m", cost }] };
  const PI_CODING_AGENT_DIR = folderWith({ "models.json": JSON.stringify({ providers: { mine } }) });
  const priced = ["--quiet", "--model", "mine/m", "--max-sub-calls", "2", "--max-cost-usd", "0.25"];
  const [calls, tokens, time] = await Promise.all([
    belayHere([...cell(refused), ...priced, "--json"], { env: { PI_CODING_AGENT_DIR } }),
    belayHere([...cell(refused), ...at(server), "--json", "--max-tokens", "4000"]),
    belayHere([...cell('await llm_query("slow", { tools: [] })'), ...at(server), "--json", "--max-time-ms", "600"]),
  ]);
  const exceeded = ["BudgetExceededError", "budget_exceeded"];
  expect(json(calls)).toMatchObject({
    result_json: exceeded,
    budget: { remaining_sub_calls: 0, remaining_cost_usd: expect.closeTo(0.25, 3) },
  });
  expect(json(tokens)).toMatchObject({ result_json: exceeded, budget: { remaining_tokens: 4000 } });
  expect(json(time)).toMatchObject({ success: false, error_code: "budget_exceeded" });
  expect(server.requests.filter(({ prompt }) => prompt !== "slow")).toHaveLength(6 + 2);
});

test("a limit of cost without a price ends the run before anything is done", async () => {
  const env = { BELAY_BASE_URL: "http://127.0.0.1:9/v1", BELAY_MODEL: "local/x", BELAY_MAX_COST_USD: "0.5" };
  const [full, repl, freed, taken] = await Promise.all([
    belayHere([...cell("1"), "--json"], { env }),
    belayHere(["repl"], { env, input: "1\n" }),
    belayHere([...cell("1"), "--max-cost-usd", "", "-q"], { env }),
    belayHere([...cell("1"), "--base-url", "", "--model", "openai/gpt-4o-mini", "-q"], { env }),
  ]);
  const message = "the price of local/x is not known, so max_cost_usd cannot be kept";
  expect(json(full)).toMatchObject({ success: false, error_code: "invalid_argument", error_message: message });
  expect(repl).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(message) });
  for (const run of [freed, taken]) expect(run).toEqual({ code: 0, stdout: "1\n", stderr: "" });
});

test("a dry run sends nothing and tells what each place would take", async () => {
  await using server = await startModelServer([]);
  const code = `const one = await llm_query("x".repeat(400), { tools: [], max_tokens: 100 });
for (const _ of [1, 2]) await llm_query_batch(["a", "b"], { tools: [], max_tokens: 50 });
result = typeof one;`;
  const dry = (source: string, ...more: string[]) => belayHere([...cell(source), ...at(server), "--dry-run", ...more]);
  const [text, partial] = await Promise.all([dry(code), dry(`${code}\nresult.x.y`, "--json")]);
  expect(text).toMatchObject({ code: 0, stderr: "" });
  const rows = text.stdout
    .trimEnd()
    .split("\n")
    .map((row) => row.split(/ {2,}/));
  expect(rows.map((row) => [row[0], row[1], row[3]])).toEqual([
    ["<cell 1>:1", "1 sub-call", "up to 100 out"],
    ["<cell 1>:2", "4 sub-calls", "up to 200 out"],
    ["all", "5 sub-calls", "up to 300 out"],
  ]);
  expect(partial.code).toBe(1);
  expect(json(partial)).toMatchObject({
    success: false,
    error_name: "TypeError",
    budget: { remaining_sub_calls: 50 },
    estimate: { sub_calls: 5, max_output_tokens: 300, partial: true, sites: [{ site: "<cell 1>:1" }, {}] },
  });
  expect(server.requests).toHaveLength(0);
});

const CORPUS = { "docs/a.md": "# Doors\nThe door is blue.\n", "docs/b.md": "# Roofs\nThe roof is red.\n" };

test("a query prints its answer alone, and all about it with --json", async () => {
  await using server = await startModelServer(({ prompt }) => ({
    text: prompt.includes("Notes from") ? "Blue [a.md:2]." : "It says blue.",
  }));
  const cwd = folderWith(CORPUS);
  const ask = ["query", "Which colour has the door?", "-c", "docs", ...at(server)];
  const [text, full] = await Promise.all([
    belayHere([...ask, "-q"], { cwd }),
    belayHere([...ask, "--json", "--max-sections", "1", "--search-strategy", "regex"], { cwd }),
  ]);
  expect(text).toEqual({ code: 0, stdout: "Blue [a.md:2].\n", stderr: "" });
  const found = { sections_analyzed: 1, search_strategy_used: "regex", budget: { remaining_sub_calls: 48 } };
  expect(json(full)).toMatchObject({ success: true, answer: "Blue [a.md:2].", ...found });
});

test("a query without an answer exits with 1; notes that were paid for are on stdout", async () => {
  await using server = await startModelServer(({ prompt }) => {
    if (prompt.includes("Notes from")) return { status: 400, body: '{"error":{"message":"too long"}}' };
    return { text: prompt.includes("roof?") ? "NOTHING" : "It says blue." };
  });
  const cwd = folderWith(CORPUS);
  const ask = (question: string) => belayHere(["query", question, "-c", "docs", ...at(server)], { cwd });
  const [unmerged, nothing] = await Promise.all([ask("Which colour has the door?"), ask("Which colour has the roof?")]);
  expect(unmerged).toMatchObject({ code: 1, stdout: "[a.md:1]\nIt says blue.\n" });
  expect(unmerged.stderr).toContain("the notes of 1 section could not be put together");
  const stderr = expect.stringMatching(/^NoMatchError: .*\nsuggestion: /);
  expect(nothing).toMatchObject({ code: 1, stdout: "", stderr });
});

test("Ctrl-C ends the requests in flight, and tells how to go on or how many calls were done", async () => {
  const slow = (text: string) => ({ text, delayMs: 60_000 });
  await using server = await startModelServer(({ prompt }) => (prompt === "first" ? { text: "1" } : slow("never")));
  const code = 'await llm_query("first", { tools: [] }); await llm_query_batch(["a", "b"], { tools: [] })';
  const interrupted = (args: string[], requests: number) =>
    signalledHere(server, requests, "SIGINT", args, { cwd: folderWith(CORPUS) });
  const text = await interrupted([...cell(code), ...at(server), "--no-store"], 3);
  expect(text).toEqual({ code: 130, stdout: "", stderr: "cancelled: 1 sub-call done, 2 given up\n" });
  const query = await interrupted(["query", "door", "-c", "docs", ...at(server), "--json"], 1);
  expect(query).toMatchObject({ code: 130, stderr: "" });
  const resume = `belay resume ${json(query).session_id.slice(-8)}`;
  expect(json(query)).toMatchObject({ success: false, error_code: "cancelled", resumable: true, resume });
  expect(server.requests.map(({ disconnected }) => disconnected)).toEqual([false, true, true, true]);
});

test.skipIf(!hasTerminal)("a terminal shows one line while calls run, and then what they took", async () => {
  await using server = await startModelServer(({ prompt }) => ({
    text: prompt,
    delayMs: prompt === "late" ? 1500 : 0,
    usage: { prompt: 900, completion: 100 },
  }));
  const code =
    'const all = ["now", "late"].map((text) => llm_query(text, { tools: [] })); (await Promise.all(all)).join()';
  const terminal = startOnTerminal(`exec -e '${code}' ${at(server).slice(1).join(" ")}`);
  const { stdout } = await finished(terminal);
  const clear = "\r\x1b[K";
  const [live = "", ...rest] = stdout.replaceAll("\r\n", "\n").split(`${clear}now,late\n`);
  expect(live.split(clear).filter((text) => text !== "")).toContainEqual(
    expect.stringMatching(
      /^█{5}░{5} calls 1 of 2(?:, ~\d+ s left)? · 48 more allowed · 1\.0k tokens \(~[\d.k]+ held\) · \d s/,
    ),
  );
  expect(rest).toEqual([expect.stringMatching(/^2 sub-calls · 2\.0k tokens · \d+ s\n$/)]);
});
