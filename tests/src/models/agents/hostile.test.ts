import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { keep } from "../../../../src/models/agents/keeper.ts";
import { type AgentJob, readOutbox } from "../../../../src/models/agents/outbox.ts";
import { loggedIn, scriptedAgent } from "../../../support/agents/agents.ts";
import { ask, isGone, openPlace, startsOf, told, until } from "./support.ts";

test.each(["stdout", "stderr"] as const)(
  "output without an end is cut on %s before it fills the disk",
  async (floods) => {
    const place = openPlace();
    const answer = await ask(
      place,
      { floods, ignoresTerm: true },
      { command: scriptedAgent("json", { max_bytes: 100_000 }) },
    );
    expect(answer).toMatchObject({
      ok: false,
      usage: { output: 100_000 },
      error: { code: "truncated_answer", message: "the agent fake printed more than it may (100,000 bytes)" },
    });
    const sizes = ["out", "err"].map((name) => statSync(join(place.outbox(), name)).size);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100_000);
  },
);

test("an agent that takes longer than its time is ended, and charged as it was held", async () => {
  const place = openPlace();
  const command = scriptedAgent("json", { max_tokens: 500, max_usd: 2 });
  expect(await ask(place, { hangs: true }, { command, timeoutMs: 30_500 })).toMatchObject({
    ok: false,
    charged: true,
    usage: { input: 0, output: 500, cost_usd: 2 },
    error: { code: "timeout" },
  });
  const [begun] = loggedIn(place.log);
  await until(() => isGone(begun?.pid ?? 0));
});

test("a process that has left the agent's group is ended with it", async () => {
  const place = openPlace();
  const answer = ask(place, { leaves: 600_000, ms: 500, says: "done" });
  await until(() => loggedIn(place.log).some(({ what }) => what === "LEFT"));
  expect(told(await answer)).toBe("done");
  const left = loggedIn(place.log).find(({ what }) => what === "LEFT");
  await until(() => isGone(left?.pid ?? 0));
});

test("numbers of a value keep the digits that were printed", async () => {
  const place = openPlace();
  const raw = '{"structured_output":{"id":12345678901234567890,"price":1.10,"e":1e3},"usage":{"input_tokens":1}}';
  expect(told(await ask(place, { raw }))).toBe('{"id":12345678901234567890,"price":1.10,"e":1e3}');
  const pretty = 'Working…\n{"a": 1}\n{\n  "result": "after prose",\n  "usage": {"input_tokens": 1}\n}\n';
  expect(told(await ask(place, { raw: pretty }, { id: "1.2" }))).toBe("after prose");
  const line = { prose: "npm warn\n", says: "in the last line" };
  expect(told(await ask(place, line, { id: "1.3" }))).toBe("in the last line");
  const twice = '{"item":{"text":"thinking"}}\n{"item":{"text":"answer"}}\nnot json {\n{"usage":{"output_tokens":3}}\n';
  expect(await ask(place, { raw: twice }, { id: "1.4", command: scriptedAgent("lines") })).toMatchObject({
    turn: { text: "answer" },
    usage: { input: 0, output: 3 },
  });
});

test("bytes that are not UTF-8 are an answer with a warning", async () => {
  const place = openPlace();
  const text = scriptedAgent("text");
  expect(await ask(place, { hex: "6f6be2 82".replace(" ", "") }, { command: text })).toMatchObject({
    ok: true,
    turn: { text: "ok\uFFFD", mended: ["bytes that are not UTF-8"] },
  });
  const lone = await ask(place, { raw: String.raw`{"result":"a\ud800b"}` }, { id: "1.2" });
  expect(lone).toMatchObject({ turn: { text: "a\uFFFDb", mended: ["half characters"] } });
});

test("an answer that is longer than a call may have is cut, and says so", async () => {
  const place = openPlace();
  const answer = await ask(place, { floods: "stdout", bytes: 300_000, says: "" }, { command: scriptedAgent("text") });
  expect(told(answer).length).toBeLessThanOrEqual(200_000);
  expect(told(answer)).toMatch(/x\n\[cut: the agent answered with 300000 characters\]$/);
  expect(answer).toMatchObject({ turn: { mended: ["an answer that was too long"] } });
});

test.each([
  ["nothing", { says: "" }, "text", "empty_answer", "the agent fake printed nothing"],
  [
    "no JSON",
    { raw: "I have done it." },
    "json",
    "sub_agent_error",
    "printed no answer as its output describes it (code 0): I have done it.",
  ],
  [
    "half of its JSON",
    { raw: '{"result":"do' },
    "json",
    "sub_agent_error",
    "printed no answer as its output describes it",
  ],
  [
    "a failure",
    { fails: true, says: "No credit." },
    "json",
    "sub_agent_error",
    "the agent fake failed (code 1): No credit.",
  ],
  ["a failure with code 0", { fails: true, says: "No.", code: 0 }, "json", "sub_agent_error", "failed (code 0): No."],
  ["its words on stderr", { raw: "", err: "boom\n", code: 3 }, "text", "sub_agent_error", "failed (code 3): boom"],
  ["and is killed", { says: "half", dies: "SIGSEGV" }, "text", "sub_agent_error", "failed (SIGSEGV): half"],
] as const)("an agent that prints %s has failed", async (_what, script, form, code, message) => {
  const place = openPlace();
  const answer = await ask(place, script, { command: scriptedAgent(form) });
  expect(answer).toMatchObject({
    ok: false,
    charged: true,
    error: { code, message: expect.stringContaining(message) },
  });
});

test("a limit of its account is no answer: the agent is started again when the user resumes", async () => {
  const place = openPlace();
  const command = scriptedAgent("json", { limit: "usage limit" });
  const at = Math.floor(Date.now() / 1000) + 3600;
  expect(await ask(place, { fails: true, says: `Claude AI usage limit reached|${at}` }, { command })).toMatchObject({
    ok: false,
    ends: "job",
    error: {
      code: "rate_limited",
      retry_at: at * 1000,
      message: expect.stringMatching(/^the agent fake has reached a limit, and may be started again at .*\d\d:\d\d: /),
    },
  });
  expect(told(await ask(place, { says: "again" }, { command }))).toBe("again");
  expect(startsOf(place)).toEqual({ "1.1": 2 });
});

test("what an agent does not say is charged as it was held", async () => {
  const place = openPlace();
  const held = { max_tokens: 700, max_usd: 0.25 };
  const { output: _, ...silent } = scriptedAgent("text", held);
  expect(await ask(place, { says: "a" }, { command: silent })).toMatchObject({
    usage: { output: 700, cost_usd: 0.25 },
  });
  const unpriced = scriptedAgent("lines", held);
  expect(await ask(place, { says: "a" }, { id: "1.2", command: unpriced })).toMatchObject({
    usage: { input: 10, output: 5, cost_usd: 0.25 },
  });
});

test("a job that another user has put into the outbox is not run", async () => {
  const place = openPlace();
  const folder = place.outbox();
  mkdirSync(folder, { recursive: true });
  const planted = join(place.path, "planted");
  const job: AgentJob = {
    argv: [process.execPath, "-e", `require("fs").writeFileSync(${JSON.stringify(planted)}, "")`],
    ...{ cwd: place.path, timeout_ms: 1000, max_bytes: 1000, tree: null, tries: 1, cut: 0 },
    key: "planted",
  };
  const lay = (own: AgentJob) => writeFileSync(join(folder, "job.json"), JSON.stringify(own));
  const steps = { begun: vi.fn(), kept: vi.fn() };
  lay(job);
  writeFileSync(join(folder, "prompt"), "");
  const work = { folder, cwd: place.path, env: {} };
  for (const given of [null, { ...job, key: "handed over" }]) await keep({ ...work, job: given }, steps);
  expect(steps.begun).not.toHaveBeenCalled();
  expect(readOutbox(folder)).toMatchObject({ start: null, result: null });
  // What counts is the job that was handed over, whatever lies there under its key.
  lay({ ...job, argv: [process.execPath, "-e", "process.exit(7)"] });
  await keep({ ...work, job }, steps);
  expect(readOutbox(folder).result).toMatchObject({ ended: "exited", code: 0 });
  expect(existsSync(planted)).toBe(true);
});

test("a prompt is never an option, and braces in it stay", async () => {
  const place = openPlace();
  const print = "console.log(JSON.stringify(process.argv.slice(1)))";
  const command = { command: [process.execPath, "-e", print, "--", "{prompt}", "-p={prompt}"] };
  const words = async (prompt: string, id: string) => JSON.parse(told(await ask(place, prompt, { id, command })));
  expect(await words("--help {model} {prompt} $& $1", "1.1")).toEqual([
    "\n--help {model} {prompt} $& $1",
    "-p=--help {model} {prompt} $& $1",
  ]);
  expect(await words("hello", "1.2")).toEqual(["hello", "-p=hello"]);
  // On standard input it is nothing but a text.
  expect(told(await ask(place, "-x", { id: "1.3", command: scriptedAgent("text") }))).toBe("answer to: -x");
});

test.each([
  ["model", { model: "--dangerously-skip-permissions" }],
  ["model", { model: "a b" }],
  ["model", { model: "a".repeat(101) }],
  ["prompt: 100001 bytes", {}, "x".repeat(100_001)],
  ["prompt: it has a NUL character", {}, "a\0b"],
  ["schema", { schema: JSON.stringify({ description: "x".repeat(100_000) }) }],
])("an argument that no command line can have is refused: %s", async (what, call, prompt = "hello") => {
  const place = openPlace();
  const base = scriptedAgent("text");
  const command = { ...base, command: [...base.command, "{prompt}"], with: { schema: ["--schema", "{schema}"] } };
  expect(await ask(place, prompt, { command, ...call })).toMatchObject({
    ok: false,
    usage: { output: 0 },
    error: { code: "invalid_argument", message: expect.stringContaining(what), retriable: false },
  });
  expect(existsSync(place.outbox())).toBe(false);
});

test("parts of a call are added to the command", async () => {
  const place = openPlace();
  const print = 'console.log(process.argv.slice(1).join(" "), require("fs").readFileSync(process.argv[4], "utf8"))';
  const command = {
    command: [process.execPath, "-e", print, "--"],
    with: { model: ["--model", "{model}"], usd: ["--usd={usd}"], schema: ["--file", "{schema_file}"] },
    max_usd: 0.5,
  };
  const schema = '{"type":"string"}';
  const file = join(place.outbox(), "schema.json");
  expect(told(await ask(place, "hi", { command, model: "opus", schema }))).toBe(
    `--model opus --file ${file} --usd=0.5 ${schema}`,
  );
});

test("an agent gets the usual variables and those that its entry names, in the folder of the run", async () => {
  const place = openPlace();
  vi.stubEnv("OTHER_API_KEY", "secret-1");
  vi.stubEnv("OWN_API_KEY", "secret-2");
  vi.stubEnv("LC_TIME", "C");
  const print = "console.log(JSON.stringify({ ...process.env, cwd: process.cwd() }))";
  const answer = await ask(place, "", { command: { command: [process.execPath, "-e", print], env: ["OWN_API_KEY"] } });
  const seen = JSON.parse(told(answer));
  expect(seen).toMatchObject({ OWN_API_KEY: "secret-2", PATH: process.env.PATH, LC_TIME: "C", cwd: place.path });
  expect(seen.BELAY_AGENT).toMatch(`${place.session}/1.1/`);
  expect(Object.keys(seen)).not.toContain("OTHER_API_KEY");
  // Keys are handed over by a pipe, and are never on disk.
  const job = readFileSync(join(place.outbox(), "job.json"), "utf8");
  expect(job).not.toContain("secret");
  expect(JSON.parse(job).max_bytes).toBe(20 * 2 ** 20);
});

test("a program that is missing waits for the user, who corrects its entry", async () => {
  const place = openPlace();
  expect(await ask(place, "hi", { command: { command: ["no-such-program-here"] } })).toMatchObject({
    ok: false,
    ends: "job",
    usage: { output: 0, cost_usd: 0 },
    error: {
      code: "no_model_configured",
      message: "the agent fake could not be started: spawn no-such-program-here ENOENT",
      suggestion: "Correct its entry in `agents` of your configuration.",
    },
  });
  const folder = await ask(place, "hi", { cwd: join(place.path, "gone") });
  expect(folder).toMatchObject({ error: { message: expect.stringMatching(/: the folder .*gone does not exist$/) } });
  writeFileSync(join(place.path, "text"), "");
  expect(told(await ask(place, { says: "corrected" }))).toBe("corrected");
  expect(startsOf(place)).toEqual({ "1.1": 1 });
});

test("dollars that an agent does not tell are marked as assumed", async () => {
  const command = scriptedAgent("text", { max_usd: 2 });
  const answer = await ask(openPlace(), { says: "done" }, { command });
  expect(answer).toMatchObject({ ok: true, usage: { cost_usd: 2, estimated_usd: 2 } });
});

test.each([
  'API Error: 401 {"type":"error","error":{"type":"authentication_error"}}',
  "Error: 529 overloaded",
  "429 Too Many Requests",
  "Invalid API key · Please run /login",
])("an error of the provider that a program prints as its answer is a failure: %s", async (raw) => {
  const answer = await ask(openPlace(), unseen(raw), { command: scriptedAgent("text") });
  expect(answer).toMatchObject({ ok: false, error: { code: "sub_agent_error" } });
});

test("an answer that looks like a failure is told, and one that speaks of a failure is an answer", async () => {
  const text = scriptedAgent("text", { limit: "usage limit" });
  const command = { command: text };
  const told = await ask(openPlace(), unseen("Error: connect ECONNREFUSED 127.0.0.1:5432"), command);
  expect(told).toMatchObject({ ok: true, turn: { mended: ["what may be a failure"] } });
  const limit = await ask(openPlace(), unseen("Error: usage limit reached"), command);
  expect(limit).toMatchObject({ ok: false, error: { code: "rate_limited" } });
  for (const raw of ["The log has an Error: 401 three times.", "500 items, no error", "Errors: 2"]) {
    const plain = await ask(openPlace(), unseen(raw), command);
    expect(plain).toMatchObject({ ok: true });
    expect(plain).not.toHaveProperty("turn.mended");
  }
});

/** Prints a text that does not stand in the prompt. */
const unseen = (text: string) => ({ hex: Buffer.from(text).toString("hex") });
