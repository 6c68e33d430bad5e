import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { openStore } from "../../../../src/store/index.ts";
import { said } from "../belay.ts";
import { DEAR, priced, scene } from "./scene.ts";

// What flags of `belay batch` change, where no other test shows it.

const ROWS = "id,text\na,one\nb,two\nc,three\n";
const line = (...more: string[]) => ["batch", "ask.js", "--jobs", "in.csv", "--name", "mine", ...more];

test.each(["", "a/b", "two\nlines", "out"])("no run is called %j: other commands could not name it", async (name) => {
  const { type } = await scene({ "in.csv": "id\na\n" });
  const refused = await type(["batch", "once.js", "--jobs", "in.csv", "--name", name]);
  expect(refused).toMatchObject(said(2, "it takes up to 100 letters, digits, spaces and ._~-"));
});

test("what jobs do follows the flags of the newest line", async () => {
  const { type, home } = await scene({ "in.csv": "id\na\n" });
  const batch = ["batch", "once.js", "--jobs", "in.csv", "--name", "mine"];
  const jobs = ["--retries", "7", "--fail-fast", "3", "--keep", "2h", "--keep-sessions", "--on-budget", "fail"];
  const cells = ["--call-concurrency", "2", "--cache", "--keep-steps", "--on-restart", "fail", "--memory-mb", "64"];
  const limits = ["--max-sub-calls", "4", "--max-output-bytes", "999", "--depth", "2"];
  expect(await type([...batch, ...jobs, ...cells, ...limits, "--rate", "local=1200/2min,9tok/s"])).toMatchObject({
    code: 0,
  });
  await using store = await openStore(home);
  const spec = async () => (await store.jobs.run("mine"))?.spec;
  const same = { budget: { max_sub_calls: 4 }, limits: { max_output_bytes: 999 }, model: "local/m" };
  expect(await spec()).toMatchObject({
    ...same,
    ...{ retries: 7, fail_fast: 3, keep_ms: 7_200_000, keep_sessions: true, on_budget: "fail" },
    ...{ call_concurrency: 2, cache: true, keep_steps: true, on_restart: "fail", memory_mb: 64, max_depth: 2 },
    rates: [
      { provider: "local", perMinute: 600, of: "requests" },
      { provider: "local", perMinute: 540, of: "tokens" },
    ],
  });
  expect(await type([...batch, ...limits, "--retries", "1"])).toMatchObject({ code: 0 });
  const usual = { on_budget: "park", cache: false, keep_steps: false, keep_sessions: false, on_restart: "send" };
  expect(await spec()).toMatchObject({ ...same, ...usual, retries: 1, fail_fast: null, rates: [] });
});

test("--rate lays requests apart, and its row is that of all who send by the same key", async () => {
  const { type, server, home } = await scene({ "in.csv": ROWS });
  await using store = await openStore(home);
  const noKey = "e3b0c442";
  // Taken before: the silence begins in the store after this, however late its answer comes.
  const hushed = performance.now();
  await store.jobs.hush({ key: `local ${server.url} ${noKey} requests`, perMinute: 1 }, 1500);
  expect(await type(line("--rate", "local=600/min"))).toMatchObject({ code: 0 });
  // None is sent before its instant; how long after it depends on the machine.
  const late = server.requests.map(({ at }, n) => at - hushed - 1490 - n * 100);
  expect(late).toHaveLength(3);
  expect(Math.min(...late)).toBeGreaterThan(0);
});

test("--on-budget fail lets the calls fail that the run's limit has no room for, and the run ends", async () => {
  const { type, server } = await scene({ "in.csv": ROWS });
  const ran = await type([...line("--run-max-sub-calls", "2", "--on-budget", "fail", "--concurrency", "1")]);
  expect(ran.code).toBe(1);
  expect(server.requests).toHaveLength(2);
  const last = await type(["jobs", "mine", "c", "--json"]);
  expect(JSON.parse(last.stdout)).toMatchObject({ status: "failed", error: expect.stringContaining("run's limit") });
});

test("--run-max-tokens parks the run when its tokens are spent", async () => {
  const usage = { prompt: 300, completion: 10 };
  const { type, server } = await scene({ "in.csv": ROWS }, () => ({ text: "ok", usage }));
  const stopped = await type(line("--run-max-tokens", "4200", "--concurrency", "1"));
  expect(stopped).toMatchObject(said(3, "paused: --run-max-"));
  expect(server.requests).toHaveLength(1);
});

test("--run-max-cost-usd parks the run when its dollars are spent, and more go on", async () => {
  const { type, server } = await scene({ "in.csv": ROWS }, () => DEAR);
  const model = ["--model", "mine/m", ...priced(server), "--concurrency", "1"];
  const stopped = await type(line("--run-max-cost-usd", "0.03", ...model));
  expect(stopped).toMatchObject(said(3, "2/3 done · 1 parked · $0.012 of $0.030\n"));
  expect(server.requests).toHaveLength(2);
  expect(await type(line("--run-max-cost-usd", "0.04", ...model))).toMatchObject({ code: 0 });
  expect(server.requests).toHaveLength(3);
});

test("--unordered writes a result as soon as it is there", async () => {
  const { type, folder, lines } = await scene({ "in.csv": "id,text\na,slow\nb,quick\n" }, async ({ prompt }) => {
    // In the order of the jobs b would have no line before a.
    if (prompt === "slow") await vi.waitFor(() => expect(lines("out.jsonl")).toMatchObject([{ job: "b" }]));
    return { text: "ok" };
  });
  writeFileSync(join(folder, "out.jsonl"), "");
  expect(await type(line("--output", "out.jsonl", "--unordered", "--concurrency", "2"))).toMatchObject({ code: 0 });
  expect(lines("out.jsonl").map(({ job }) => job)).toEqual(["b", "a"]);
  expect(await type(line("--output", "out.jsonl"))).toMatchObject({ code: 0 });
  expect(lines("out.jsonl").map(({ job }) => job)).toEqual(["a", "b"]);
});

test("--concurrency bounds jobs, and --call-concurrency the sub-calls of each", async () => {
  const three = "await llm_query_batch(['1', '2', '3'].map((n) => job.id + n), { tools: [] })";
  const peaks: number[] = [];
  for (const [jobs, calls] of [
    ["1", "1"],
    ["2", "1"],
    ["1", "3"],
  ] as const) {
    // An answer waits until as many requests are there as there can be.
    const all = Promise.withResolvers<void>();
    let flying = 0;
    const { type, server } = await scene({ "in.csv": "id\na\nb\n", "ask.js": three }, async () => {
      flying += 1;
      if (flying === Number(jobs) * Number(calls)) all.resolve();
      await all.promise;
      return { text: "ok" };
    });
    expect(await type(line("--concurrency", jobs, "--call-concurrency", calls))).toMatchObject({ code: 0 });
    peaks.push(server.peak);
  }
  expect(peaks).toEqual([1, 2, 3]);
});

test("--cache answers a call of one job with what another one was answered", async () => {
  const { type, server } = await scene({ "in.csv": "id,text\na,same\nb,same\n" });
  expect(await type(line("--cache", "--concurrency", "1"))).toMatchObject({ code: 0 });
  expect(server.requests).toHaveLength(1);
});

test("--retries 0 fails a job at once whose context is lost", async () => {
  const { type, folder, home } = await scene({
    "in.csv": "id,f\na,x.txt\n",
    "x.txt": "old",
    "y.txt": "new",
    "ask.js": "throw new Error(P)",
  });
  const fields = ["--context-field", "f"];
  expect(await type(line(...fields))).toMatchObject({ code: 1 });
  const database = new DatabaseSync(join(home, "belay.db"));
  database.exec("DELETE FROM contexts");
  database.close();
  // A line that names another file does not keep that of the job again.
  writeFileSync(join(folder, "in.csv"), "id,f\nb,y.txt\n");
  expect(await type(["jobs", "retry", "mine"])).toMatchObject({ code: 0 });
  expect(await type(line(...fields, "--retries", "0"))).toMatchObject({ code: 1 });
  const shown = JSON.parse((await type(["jobs", "mine", "a", "--json"])).stdout);
  expect(shown).toMatchObject({ status: "failed", error_code: "context_lost", attempts: 1 });
});

test("jobs resume raises the limit of a run, and says that the line is to name it too", async () => {
  const { type, server } = await scene({ "in.csv": ROWS });
  const limited = (calls: string) => line("--run-max-sub-calls", calls, "--concurrency", "1");
  expect(await type(limited("1"))).toMatchObject({ code: 3 });
  expect(await type(["jobs", "resume", "mine", "--run-max-sub-calls", "3"])).toMatchObject({
    stdout:
      "mine is open, and 2 jobs wait\nthe line of belay batch that began mine continues it; name the new limit there too\n",
  });
  const raised = JSON.parse((await type(["jobs", "mine", "--json"])).stdout);
  expect(raised.run.limits).toMatchObject({ sub_calls: 3, tokens: null });
  expect(await type(limited("3"))).toMatchObject({ code: 0 });
  expect(server.requests).toHaveLength(3);
});

test("a second --jobs is named: its rows would be missing", async () => {
  const { type } = await scene({ "a.csv": "id\n1\n", "b.csv": "id\n2\n" });
  expect(await type(["batch", "once.js", "--jobs", "a.csv", "--jobs", "b.csv"])).toMatchObject(
    said(2, "--jobs is b.csv: it takes one path, and a.csv stands there already"),
  );
});

test("--raw and --include-secrets say how the contexts of jobs load", async () => {
  const page = "<h1>Hello</h1>";
  const { type, folder } = await scene({ "in/a.html": page, "in/b.pem": "key", "in.csv": "id\na\n", "all.js": "P" });
  const results = async (...flags: string[]) => {
    const ran = await type(["batch", "all.js", "--jobs", ...flags, "-o", "-"]);
    expect(ran).toMatchObject({ code: 0 });
    const lines = ran.stdout.trim().split("\n");
    return { stderr: ran.stderr, all: lines.map((line) => JSON.parse(line).result) };
  };
  const own = await results("in", "--name", "own");
  expect(own).toMatchObject({
    all: ["# Hello\n\n"],
    stderr: expect.stringMatching(/b\.pem \(.*: --include-secrets\)/),
  });
  expect(await results("in", "--name", "as", "--raw", "--include-secrets")).toMatchObject({ all: [page, "key"] });
  const shared = await results("in.csv", "--name", "shared", "-c", join(folder, "in"), "--raw");
  expect(shared.all).toEqual([expect.stringContaining(page)]);
  const other = await type(["batch", "all.js", "--jobs", "in", "--name", "own", "--raw"]);
  expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining("run_differs") });
  expect(await type(["batch", "all.js", "--jobs", "in.csv", "--raw"])).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining("--raw sets how contexts load, and these jobs have none") },
  });
});
