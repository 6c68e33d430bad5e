import { expect, test, vi } from "vitest";
import { openStore } from "../../../../src/store/index.ts";
import { startProxy } from "../../../support/postgres/proxy.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../../support/postgres/server.ts";
import { finished, startBelay } from "../belay.ts";
import { DEAR, linesIn, priced, scene } from "./scene.ts";

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
  expect(detached).toMatchObject({ code: 0, stdout: "" });
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
});

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
    stdout: expect.stringMatching(/^mine \(paused\): .*\nwhy: .*local\/m/),
  });
});

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
});

test("a run whose dollars are spent is paused, and goes on with more of them: no answer is paid for again", async ({
  skip,
}) => {
  skip(NO_POSTGRES !== null, NO_POSTGRES ?? "");
  const store = ["--store", await freshStoreUrl()];
  const ask = 'await llm_query("" + job, { tools: [] })';
  const { type, server } = await scene({ "in.jsonl": "1\n2\n3\n4\n5\n", "ask.js": ask }, () => DEAR);
  const own = [...priced(server), ...store];
  const submit = ["batch", "ask.js", "--jobs", "in.jsonl", "--name", "mine", "--model", "mine/m", ...own];
  // With $0.03 there are two requests.
  expect(await type([...submit, "--run-max-cost-usd", "0.03", "--detach"])).toMatchObject({ code: 0 });
  const works = () => type(["worker", "--until-idle", ...own]);
  expect(await works()).toMatchObject({ code: 0 });
  expect(server.requests).toHaveLength(2);
  expect(await type(["jobs", "mine", ...store])).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/^mine \(paused\): .*\nwhy: --run-max-cost-usd 0.03 is spent/),
  });
  expect(await type(["jobs", "resume", "mine", "--run-max-cost-usd", "1", ...store])).toMatchObject({
    code: 0,
    stdout: "mine is open, and 3 jobs wait\n",
  });
  expect(await works()).toMatchObject({ code: 0 });
  expect(server.requests.map(({ prompt }) => prompt).toSorted()).toEqual(["1", "2", "3", "4", "5"]);
  expect(await type(["jobs", "mine", ...store])).toMatchObject({ code: 0, stdout: expect.stringContaining("$0.03") });
});

test("a worker's --max-cost-usd limits each of its jobs, whatever the run allows", async ({ skip }) => {
  skip(NO_POSTGRES !== null, NO_POSTGRES ?? "");
  const store = ["--store", await freshStoreUrl()];
  const calls = `for (const n of [1, 2, 3]) await llm_query(job.id + n, { tools: [] })`;
  const { type, server } = await scene({ "in.jsonl": '{"id":"a"}\n{"id":"b"}\n', "calls.js": calls }, () => DEAR);
  const own = priced(server);
  const batch = ["batch", "calls.js", "--jobs", "in.jsonl", "--name", "mine", "--model", "mine/m", ...own, ...store];
  expect(await type([...batch, "--max-cost-usd", "50", "--detach"])).toMatchObject({ code: 0 });
  const worker = ["worker", "--until-idle", "--concurrency", "1", "--max-cost-usd", "0.03", ...own, ...store];
  const worked = await type(worker);
  expect(worked).toMatchObject({ code: 0, stderr: expect.stringContaining("1 job at once\n") });
  // The third call of each job might have cost more than is left of its $0.03.
  expect(server.requests.map(({ prompt }) => prompt)).toEqual(["a1", "a2", "b1", "b2"]);
  const shown = JSON.parse((await type(["jobs", "mine", "b", "--json", ...store])).stdout);
  expect(shown).toMatchObject({ status: "failed", error: expect.stringContaining("BudgetExceededError") });
});

test("--no-work follows a run that it does not work on; its share and its queue stay", async ({ skip }) => {
  skip(NO_POSTGRES !== null, NO_POSTGRES ?? "");
  const url = await freshStoreUrl();
  const { type, server } = await scene({ "in.jsonl": ROWS });
  const line = ["batch", "ask.js", "--jobs", "in.jsonl", "--name", "mine", "--store", url];
  const following = type([...line, "--no-work", "--share", "4"]);
  await using store = await openStore(url);
  const run = await vi.waitFor(
    async () => (await store.jobs.run("mine")) ?? Promise.reject(new Error("no run")),
    10_000,
  );
  await vi.waitFor(async () => expect(await store.jobs.counts(run.id)).toMatchObject({ waiting: 3 }));
  const ranks = (await store.jobs.list(run.id, { from: 0, limit: 3 })).map(({ rank }) => rank);
  expect(ranks.map((rank) => rank - (ranks[0] ?? 0))).toEqual([0, 2, 4]);
  const pausing = setInterval(() => void store.jobs.change(run.id, { to: "pause", why: null }), 200);
  const ended = await following.finally(() => clearInterval(pausing));
  expect(ended).toMatchObject({ code: 3, stdout: "" });
  const there = `--store '${url}'`;
  expect(ended.stderr.split("\n").slice(0, 2)).toEqual(["run mine: 3 jobs", `work on it: belay worker ${there}`]);
  expect(ended.stderr).toMatch(/\nmine: 0\/3 done\npaused\ncontinue with: belay jobs resume mine --store .*\n$/);
  expect(server.requests).toHaveLength(0);
  for (const [flag, value, has] of [
    ["--share", "2", "a share of 4"],
    ["--queue", "other", "the queue default"],
  ] as const) {
    const message = `the run mine has ${has}, which ${flag} cannot change (run_differs)`;
    expect(await type([...line, flag, value])).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
  }
});
