import { expect, test } from "vitest";
import { startModelServer } from "../../../support/model-server.ts";
import { startProxy } from "../../../support/postgres/proxy.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../../support/postgres/server.ts";
import { folderWith } from "../../../support/tree.ts";
import { finished, startBelay } from "../belay.ts";
import { belayHere } from "../in-process.ts";
import { linesIn, scene } from "./scene.ts";

const ROWS = '{"id":"a","text":"one"}\n{"id":"b","text":"bad"}\n{"id":"c","text":"three"}\n';

/** The URL of a fresh store, with a password that the server does not ask for. */
async function urlWithPassword(): Promise<string> {
  const url = new URL(await freshStoreUrl());
  if (url.password === "") url.password = "hunter2secret";
  return url.href;
}

test("a run that is submitted in one folder is worked off in another, and no password is told", async ({ skip }) => {
  skip(NO_POSTGRES !== null, NO_POSTGRES ?? "");
  const store = ["--store", await urlWithPassword()];
  const [here, there] = [await scene({ "in.jsonl": ROWS }), await scene({})];
  const line = ["batch", "ask.js", "--jobs", "in.jsonl", "--name", "mine", ...store];
  const detached = await here.type([...line, "--detach"]);
  expect(detached).toMatchObject({ code: 3, stdout: "" });
  expect(detached.stderr).toMatch(
    /^the URL of --store has a password, .*\nrun mine: 3 jobs\nwork on it: belay worker\nfollow it: belay jobs mine --watch\n$/,
  );
  expect(here.server.requests).toHaveLength(0);
  const worked = await there.type(["worker", "--until-idle", ...store]);
  expect(worked).toMatchObject({ code: 0, stdout: "" });
  expect(worked.stderr).toMatch(/\nworks on postgres:.*: queue default, \d+ jobs? at once\n/);
  expect(worked.stderr).toMatch(/\n0 running · 2 done · 1 failed\n$/);
  expect(there.server.requests).toHaveLength(3);
  const ended = await here.type([...line, "-o", "-"]);
  expect(ended.code).toBe(1);
  expect(linesIn(ended.stdout).map(({ job, status, result }) => [job, status, result])).toEqual([
    ["a", "done", "label of one"],
    ["b", "failed", null],
    ["c", "done", "label of three"],
  ]);
  expect(here.server.requests).toHaveLength(0);
  const listed = await here.type(["jobs", ...store, "--json"]);
  for (const { stdout, stderr } of [detached, worked, ended, listed]) {
    expect(stdout + stderr).not.toContain("hunter2secret");
  }
}, 60_000);

test("a run whose model a worker does not allow is paused, and says why", async ({ skip }) => {
  skip(NO_POSTGRES !== null, NO_POSTGRES ?? "");
  const store = ["--store", await freshStoreUrl()];
  const { type, server } = await scene({ "in.jsonl": ROWS });
  await type(["batch", "ask.js", "--jobs", "in.jsonl", "--name", "mine", "--queue", "own", "--detach", ...store]);
  const worked = await type(["worker", "--queue", "own", "--models", "other/model", "--until-idle", ...store]);
  expect(worked).toMatchObject({ code: 0, stderr: expect.stringContaining("run mine is paused: ") });
  expect(server.requests).toHaveLength(0);
  expect(await type(["jobs", "mine", ...store])).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/^mine \(paused: .*local\/m/),
  });
}, 60_000);

test("a worker that is asked to end before it has connected ends", async ({ skip }) => {
  skip(NO_POSTGRES !== null, NO_POSTGRES ?? "");
  let stop = () => {};
  await using proxy = await startProxy(await freshStoreUrl(), () => stop());
  const worker = startBelay(["worker", "--store", proxy.url]);
  stop = () => {
    // A second signal would end it without order.
    stop = () => {};
    worker.kill("SIGTERM");
  };
  expect(await finished(worker)).toMatchObject({ code: 143 });
}, 30_000);

test("a run whose dollars are spent is paused, and goes on with more of them: no answer is paid for again", async ({
  skip,
}) => {
  skip(NO_POSTGRES !== null, NO_POSTGRES ?? "");
  const store = ["--store", await freshStoreUrl()];
  await using server = await startModelServer(() => ({ text: "yes", usage: { prompt: 1000, completion: 1000 } }));
  // An answer costs 0.006 dollars, and a request may cost 0.0205: with 0.03 there are two.
  const models = [{ id: "m", cost: { input: 1, output: 5, cacheRead: 0, cacheWrite: 0 }, maxTokens: 4096 }];
  const mine = { baseUrl: server.url, api: "openai-completions", apiKey: "key", models };
  const folder = folderWith({
    "in.jsonl": "1\n2\n3\n4\n5\n",
    "ask.js": 'await llm_query("" + job, { tools: [] })',
    "models.json": JSON.stringify({ providers: { mine } }),
  });
  const env = { PI_CODING_AGENT_DIR: folder, BELAY_MODEL: "mine/m" };
  const type = (...args: string[]) => belayHere([...args, ...store], { cwd: folder, home: `${folder}/home`, env });
  const submit = ["batch", "ask.js", "--jobs", "in.jsonl", "--name", "mine", "--run-max-cost-usd", "0.03", "--detach"];
  expect((await type(...submit)).code).toBe(3);
  expect((await type("worker", "--until-idle")).code).toBe(0);
  expect(server.requests).toHaveLength(2);
  expect(await type("jobs", "mine")).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/^mine \(paused: budget\)/),
  });
  expect(await type("jobs", "resume", "mine", "--run-max-cost-usd", "1")).toMatchObject({
    code: 0,
    stdout: "mine is open, and 3 jobs wait\n",
  });
  expect((await type("worker", "--until-idle")).code).toBe(0);
  expect(server.requests.map(({ prompt }) => prompt).toSorted()).toEqual(["1", "2", "3", "4", "5"]);
  expect(await type("jobs", "mine")).toMatchObject({ code: 0, stdout: expect.stringContaining("$0.03") });
}, 60_000);
