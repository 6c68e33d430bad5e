import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../../../src/store/index.ts";
import { json, said } from "../belay.ts";
import { DEAR, linesIn, priced, scene } from "./scene.ts";

const ROWS = "id,text\na,one\nmail@example.org,bad\nin/c.txt,three\n";

/** A run called `mine` of three jobs, one of which has failed. */
async function ranScene() {
  const made = await scene({ "in.csv": ROWS });
  const line = ["batch", "ask.js", "--jobs", "in.csv", "--name", "mine"];
  await made.type(line);
  return { ...made, line };
}

test("runs are listed with how they stand, the newest first", async () => {
  const { type } = await ranScene();
  await type(["batch", "once.js", "--jobs", "-", "--name", "other"], "1\n2\n");
  const { code, stdout } = await type(["jobs"]);
  expect(code).toBe(0);
  expect(stdout.split("\n").map((text) => text.replaceAll(/ +/g, " "))).toEqual([
    "run state over failed cost begun",
    expect.stringMatching(/^other over 2\/2 - - /),
    expect.stringMatching(/^mine over 3\/3 1 - /),
    "",
  ]);
  const listed = json(await type(["jobs", "--json"]));
  expect(listed).toMatchObject({ success: true, more: false });
  expect(listed.runs).toMatchObject([
    { name: "other", jobs: { all: 2, done: 2 } },
    {
      name: "mine",
      state: "over",
      jobs: { all: 3, done: 2, failed: 1 },
      spent: { sub_calls: 3 },
      limits: { cost_usd: null },
    },
  ]);
});

test("a job that is done with a loss has its warnings in its line, its JSON and its text", async () => {
  const { type } = await scene({ "loss.js": "({ n: job, f() {} })" });
  const lines = linesIn(
    (await type(["batch", "loss.js", "--jobs", "-", "-o", "-", "--name", "loss"], '{"id":"a"}\n')).stdout,
  );
  const warnings = ["result_not_serializable: result.f (a function)"];
  expect(lines).toMatchObject([{ status: "done", warnings }]);
  expect(json(await type(["jobs", "loss", "a", "--json"]))).toMatchObject({ warnings });
  expect((await type(["jobs", "loss", "a"])).stdout).toContain("\nwarning: JSON cannot hold result.f (a function)");
});

test("a run is shown with its jobs, and a job with its input, its result or its error", async () => {
  const { type } = await ranScene();
  const all = await type(["jobs", "mine"]);
  expect(all).toMatchObject({ code: 1, stderr: "" });
  expect(all.stdout).toMatch(/^mine \(over\): 2\/3 done · 1 failed · \S+ tokens\n/);
  expect(all.stdout).toMatch(/^mail@example.org {2}failed +1 +- {2}Error: no label$/m);
  expect(all.stdout).toMatch(/one of them: belay jobs mine mail@example.org\n$/);
  const inState = json(await type(["jobs", "mine", "--state", "done", "--json"]));
  expect(inState.jobs).toMatchObject([
    { job: "a", n: 0, status: "done", sub_calls: 1 },
    { job: "in/c.txt", n: 2 },
  ]);
  expect(await type(["jobs", "mine", "--state", "parked"])).toMatchObject({
    stdout: expect.stringContaining("no job is parked\n"),
  });
  const done = await type(["jobs", "mine", "in/c.txt"]);
  expect(done.code).toBe(0);
  expect(done.stdout).toContain(
    'input\n  { "id": "in/c.txt", "text": "three" }\nresult\n  label of three\nall that it did: belay show mine/in/c.txt\n',
  );
  const failed = await type(["jobs", "mine", "mail@example.org"]);
  expect(failed.code).toBe(1);
  expect(failed.stdout).toContain("error (js_error)\n  Error: no label\n");
  expect(json(await type(["jobs", "mine", "a", "--json"]))).toMatchObject({
    job: "a",
    input: { text: "one" },
    result: "label of one",
  });
});

test("show, fork and resume reach the session of a job by RUN/ID, whose id may have slashes and @", async () => {
  const { type } = await ranScene();
  expect(await type(["show", "mine/mail@example.org"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("js_error"),
  });
  expect(await type(["show", "mine/in/c.txt"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("llm_query"),
  });
  expect(await type(["fork", "mine/mail@example.org", "--name", "copy"])).toMatchObject({ code: 0, stdout: "copy\n" });
  expect(await type(["resume", "mine/a", "--quiet"])).toMatchObject({ stdout: "label of one\n" });
  const missing = await type(["show", "mine/nobody"]);
  expect(missing).toMatchObject(said(1, 'job "nobody" not found in run mine'));
  expect(await type(["fork", "theirs/a"])).toMatchObject(said(1, "(run_not_found)"));
  for (const command of ["show", "fork", "resume", "rm"]) {
    const { code, stderr } = await type([command, "mine"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("mine is a run, not a session (session_not_found)")]);
    expect(stderr).toContain("`belay jobs mine` lists its jobs, mine/ID names the session of one");
  }
});

test("sessions of jobs are listed with --all alone, none is chosen by itself, and rm drops them with their run", async () => {
  const { type } = await ranScene();
  expect(await type(["sessions"])).toMatchObject({ stdout: expect.stringMatching(/^no sessions in /) });
  expect(json(await type(["sessions", "--all", "--json"])).sessions).toHaveLength(3);
  expect(await type(["show"])).toMatchObject(said(1, "(session_not_found)"));
  expect(await type(["resume"])).toMatchObject(said(1, "no session found to resume"));
  expect(await type(["jobs", "rm", "mine"])).toMatchObject({
    code: 0,
    stdout: "removed mine with the sessions of its jobs\n",
  });
  expect(json(await type(["sessions", "--all", "--json"])).sessions).toEqual([]);
  expect(await type(["jobs", "mine"])).toMatchObject(said(1, "(run_not_found)"));
});

test("out writes the results that there are, as batch does, and --watch follows a run to its end", async () => {
  const { type, line, lines, folder } = await ranScene();
  await type([...line, "-o", "batch.jsonl"]);
  expect(await type(["jobs", "out", "mine", "--out", "out.jsonl"])).toEqual({
    ...{ code: 0, stdout: "" },
    stderr: "1 job failed: error_code and error of a line say why\n",
  });
  expect(lines("out.jsonl")).toEqual(lines("batch.jsonl"));
  expect(linesIn((await type(["jobs", "out", "mine"])).stdout)).toEqual(lines("batch.jsonl"));
  writeFileSync(join(folder, "a-file"), "");
  const refused = await type(["jobs", "out", "mine", "--out", "a-file/out.jsonl"]);
  expect(refused).toMatchObject(said(1, "(output_failed)"));
  const watched = await type(["jobs", "mine", "--watch"]);
  expect(watched).toMatchObject({ code: 1, stdout: expect.stringMatching(/^mine: 2\/3 done · 1 failed/) });
  expect(watched.stderr).toBe("results: belay jobs out mine --out FILE\n");
  expect(await type(["jobs", "mine", "--watch", "--quiet"])).toMatchObject({ stdout: watched.stdout, stderr: "" });
});

test("a paused run begins no job until it is resumed, and cancelled jobs wait for --retry-cancelled", async () => {
  const { type } = await scene({
    "in.csv": "id\n1\n2\n3\n",
    "fail.js": "if (job.id === '1') throw new Error('first'); job.id",
  });
  const line = ["batch", "fail.js", "--jobs", "in.csv", "--name", "mine", "--concurrency", "1", "--fail-fast", "1"];
  expect(await type(line)).toMatchObject({ code: 3 });
  expect(await type(["jobs", "mine"])).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/^mine \(paused\): .*\nwhy: 1 of its jobs have failed\n/),
  });
  const [unbegun, shown] = [await type(["jobs", "mine", "3"]), await type(["show", "mine/3"])];
  expect(unbegun.stdout).toMatch(/^job 3 of mine: waiting\ntook 0 sub-calls, 0 tokens\ninput\n {2}\{ "id": "3" \}\n$/);
  expect(shown).toMatchObject(said(1, "has no session: it was not begun"));
  const cancelled = await type(["jobs", "cancel", "mine"]);
  expect(cancelled.stdout).toMatch(/^\d jobs? cancelled\n$/);
  expect(json(await type(["jobs", "mine", "--json"]))).toMatchObject({ run: { jobs: { waiting: 0, failed: 1 } } });
  expect(await type(["jobs", "resume", "mine"])).toMatchObject({ code: 0, stdout: "mine is open, and 0 jobs wait\n" });
  expect(await type([...line, "--retry-cancelled"])).toMatchObject({ code: 1 });
  expect(json(await type(["jobs", "mine", "--json"]))).toMatchObject({
    run: { jobs: { done: 2, failed: 1, cancelled: 0 } },
  });
});

test("retry gives jobs that have failed, or those that are named, a new attempt", async () => {
  const { type } = await ranScene();
  const wait = "the line of belay batch that began mine continues it";
  expect(await type(["jobs", "retry", "mine"])).toMatchObject({ stdout: `1 job will be tried again\n${wait}\n` });
  expect(await type(["jobs", "pause", "mine"])).toMatchObject({
    code: 0,
    stdout: "mine is paused; resume it: belay jobs resume mine\n",
  });
  expect(await type(["jobs", "mine"])).toMatchObject({ code: 3, stdout: expect.stringMatching(/^mine \(paused\): /) });
  const resumed = await type(["jobs", "resume", "mine"]);
  expect(resumed).toMatchObject({ code: 0, stdout: `mine is open, and 1 job waits\n${wait}\n` });
  const unknown = await type(["jobs", "retry", "mine", "a", "nobody"]);
  expect(unknown).toMatchObject(said(1, 'job "nobody" not found in run mine; nothing was changed'));
  const stay = (state: string) =>
    `0 jobs will be tried again\na is done, and stays so\nmail@example.org is ${state}, and stays so\n${wait}\n`;
  const named = ["retry", "mine", "a", "mail@example.org"];
  expect((await type(["jobs", ...named])).stdout).toBe(stay("waiting"));
  expect((await type(["jobs", "cancel", "mine", "a"])).stdout).toBe("0 jobs cancelled\na is done, and stays so\n");
  expect((await type(["jobs", "cancel", "mine"])).stdout).toBe("1 job cancelled\n");
  expect((await type(["jobs", "retry", "mine"])).stdout).toBe("0 jobs will be tried again\n");
  expect((await type(["jobs", "retry", "mine", "mail@example.org"])).stdout).toContain("1 job will be tried again\n");
});

test("retry --fresh gives up what was begun and waits, in a session of its own", async () => {
  const { type, home, line } = await ranScene();
  await type(["jobs", "retry", "mine"]);
  await using store = await openStore(home);
  const key = { run: (await store.jobs.run("mine"))?.id ?? "", n: 1 };
  await store.jobs.begin(key, { ticket: "t", fence: 0, engine: "another build's", lapses: 0, answers: 0 });
  await store.jobs.put(key, 0, { state: "waiting", why: null, afterMs: 0, counts: false });
  const waits = "waits for the build of Belay that began it";
  expect((await type(["jobs", "mine"])).stdout).toMatch(new RegExp(`^mail@example.org {2}waiting .* ${waits}$`, "m"));
  const kept = await type(line);
  expect(kept.code).toBe(3);
  expect(kept.stderr).toMatch(
    /^1 job waits for the build of Belay that began it; with that build, continue with: belay batch .*\nor begin anew: belay jobs retry mine --fresh, then belay batch .*\n$/m,
  );
  const session = async () => (await store.jobs.read(key))?.job.session;
  const begun = await session();
  expect((await type(["jobs", "retry", "mine"])).stdout).toContain("0 jobs will be tried again\n");
  expect(await session()).toBe(begun);
  expect((await type(["jobs", "retry", "mine", "--fresh"])).stdout).toContain("1 job will be tried again\n");
  expect(await session()).not.toBe(begun);
  expect((await store.jobs.read(key))?.job).toMatchObject({ engine: null, begun_at: null });
  // Its worker was killed.
  await store.jobs.begin(key, { ticket: "u", fence: 0, engine: "another build's", lapses: 0, answers: 0 });
  expect((await type(["jobs", "retry", "mine", "--fresh"])).stdout).toContain("1 job will be tried again\n");
  expect((await store.jobs.read(key))?.job).toMatchObject({ state: "waiting", engine: null, lapses: 0 });
});

test("a job that waits for its provider is shown as parked, with the time at which it goes on", async () => {
  const { type, home } = await ranScene();
  await type(["jobs", "retry", "mine"]);
  await using store = await openStore(home);
  const key = { run: (await store.jobs.run("mine"))?.id ?? "", n: 1 };
  await store.jobs.begin(key, { ticket: "t", fence: 0, engine: null, lapses: 0, answers: 0 });
  await store.jobs.put(key, 0, { state: "parked", why: "provider", afterMs: 3_599_000, counts: false });
  expect((await type(["jobs", "mine", "--state", "parked"])).stdout).toMatch(
    /^mine \(parked\): 2\/3 done · 1 parked .*\n.*\nmail@example.org {2}parked .* provider, goes on in 59 min\n/,
  );
  const shown = await type(["jobs", "mine", "mail@example.org"]);
  expect(shown.code).toBe(3);
  expect(shown.stdout).toContain("job mail@example.org of mine: parked (provider, goes on in 59 min)\n");
});

test.each<[args: string[], problem: string]>([
  [["cancel"], "jobs cancel takes a RUN; belay jobs lists them"],
  [["pause", "mine", "a"], "jobs pause is about a whole run, and a is one more word"],
  [["mine", "a", "b"], "jobs takes a RUN and an ID, and b is one more word"],
  [["mine", "--fresh"], "--fresh is of jobs retry"],
  [["mine", "--out", "x"], "--out is of jobs out"],
  [["mine", "--run-max-tokens", "5"], "--run-max-tokens is of jobs resume"],
  [["--state", "done"], "--state needs a RUN alone"],
  [["mine", "--quiet"], "--quiet needs --watch"],
  [["mine", "a", "--watch"], "--watch needs a RUN alone"],
  [["mine", "--watch", "--state", "done"], "--watch follows the whole run, and --state is a part of it"],
  [
    ["mine", "--state", "gone"],
    "--state is gone: it takes waiting, running, parked, cancelling, done, failed or cancelled",
  ],
])("belay jobs %j is wrong usage", async (args, problem) => {
  const { type } = await scene({});
  expect(await type(["jobs", ...args])).toMatchObject(said(2, `belay jobs: ${problem}\n`));
});

test("a worker needs a server's store", async () => {
  const { type } = await scene({});
  expect(await type(["worker"])).toMatchObject({
    code: 2,
    stderr:
      "belay worker: a worker needs a server's store: in a folder belay batch works by itself\ntry: belay worker --store postgres://USER@HOST/DATABASE\n",
  });
});

test("--costs adds up what runs have spent, by day and by model", async () => {
  const { type, server } = await scene({ "in.csv": "id,text\na,one\nb,two\n" }, () => DEAR);
  const own = priced(server);
  expect((await type(["jobs", "--costs"])).stdout).toBe("no job has asked a model\n");
  for (const name of ["first", "second"]) {
    await type(["batch", "ask.js", "--jobs", "in.csv", "--name", name, "--model", "mine/m", "--fresh", ...own]);
  }
  const { costs } = JSON.parse((await type(["jobs", "--costs", "--json"])).stdout);
  expect(costs).toEqual([
    {
      day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      model: "mine/m",
      jobs: 4,
      sub_calls: 4,
      tokens: 8000,
      cost_usd: 0.024,
    },
  ]);
  expect((await type(["jobs", "--costs"])).stdout).toMatch(/mine\/m +4 +4 +8\.0k +\$0\.024\ntogether \$0\.024;/);
  expect(await type(["jobs", "first", "--costs"])).toMatchObject({ code: 2 });
});

test("why jobs failed is told by reasons, with the first words of their inputs, and the answers that did not fit are shown", async () => {
  const rows = [1, 2, 3].map((n) => `r${n},text number ${n}`).join("\n");
  const { type } = await scene({ "in.csv": `id,text\n${rows}\nbad,odd\n`, "fit.js": FITTING }, () => ({
    text: "I would say: positive",
  }));
  const line = ["batch", "fit.js", "--jobs", "in.csv", "--name", "fit"];
  const { stderr } = await type([...line, "--json"]);
  expect(stderr).not.toContain("undefined");
  const failed = await type(["jobs", "fit", "--state", "failed"]);
  const mismatch =
    "schema_mismatch: .*the answer does not fit the schema: the answer is not JSON; it is: I would say: positive";
  expect(failed.stdout).toMatch(new RegExp(`^ *3 × +${mismatch}$`, "m"));
  expect(failed.stdout).toMatch(/^ *1 × {2}js_error: Error: odd$/m);
  expect(failed.stdout).toMatch(/^r2 +failed +1 +- +\{"id":"r2","text":"text number 2"\} +.*does not fit/m);
  expect(JSON.parse((await type(["jobs", "fit", "--json"])).stdout).reasons).toMatchObject([
    { error_code: "schema_mismatch", count: 3 },
    { error_code: "js_error", count: 1 },
  ]);
  const shown = await type(["show", "fit/r1", "--call", "1"]);
  expect(shown.stdout).toContain("\nthe answer that did not fit the schema\nI would say: positive\n");
  const call = JSON.parse((await type(["show", "fit/r1", "--call", "1", "--json"])).stdout);
  expect(JSON.stringify(call)).toContain('"misfit":"I would say: positive"');
});

const FITTING = `if (job.text === "odd") throw new Error("odd");
await llm_query(job.text, { tools: [], schema: { type: "object", properties: { mood: { type: "string" } } } })`;
