import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, expectTypeOf, onTestFinished, test } from "vitest";
import { ROOT, run } from "../../../scripts/process.ts";
import type { Json, RlmError } from "../../../src/index.ts";
import {
  type FollowOptions,
  openRuns,
  type RunOptions,
  type RunStatus,
  type Runs,
} from "../../../src/runs/open-runs.ts";
import { collected } from "../../support/collected.ts";
import { BUNDLED } from "../../support/command.ts";
import { startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";

const DOUBLE = 'if (job.n === 3) throw new Error("three"); job.n * 2';

async function opened(options: Partial<Parameters<typeof openRuns>[0]> = {}): Promise<Runs> {
  const runs = await openRuns({ store: join(folderWith({}), "state"), ...options });
  onTestFinished(() => runs.close());
  return runs;
}

const numbers = (...all: readonly number[]) => all.map((n) => ({ id: `n${n}`, n }));

const refusal = (asked: Promise<unknown>) =>
  asked.then(
    () => "it was taken",
    (error: RlmError) => `${error.code}: ${error.message} | ${error.suggestion}`,
  );

test("a run is submitted and followed, and gives the results in the order of its inputs", async () => {
  const runs = await opened();
  const run = await runs.submit({ script: { name: "double.js", source: DOUBLE }, inputs: numbers(2, 3, 1) });
  expect(run).toMatchObject({
    name: expect.stringMatching(/^double-[0-9a-f]{8}$/),
    jobs: { all: 3, added: 3, again: 0 },
  });
  expect(await run.status()).toMatchObject({ state: "waiting", jobs: { all: 3, waiting: 3 } });
  expect(await collected(run.results())).toEqual([]);
  const seen: RunStatus[] = [];
  const end = await run.follow({ onProgress: (event) => event.kind === "status" && seen.push(event.status) });
  expect(end).toMatchObject({ name: run.name, state: "over", why: null, jobs: { done: 2, failed: 1 } });
  expect(seen.at(-1)).toMatchObject({ id: run.id, state: "over" });
  expect(await collected(run.results())).toMatchObject([
    { job: "n2", n: 0, status: "done", result: 4, attempts: 1, output: "", sub_calls: 0 },
    {
      job: "n3",
      n: 1,
      status: "failed",
      result: null,
      error_code: "js_error",
      error: expect.stringContaining("three"),
    },
    { job: "n1", n: 2, status: "done", result: 2 },
  ]);
});

test("a run of one job at a time is not looked at after each job", async () => {
  const runs = await opened();
  const run = await runs.submit({ script: "job.n", inputs: numbers(...Array.from({ length: 20 }, (_, n) => n)) });
  let looks = 0;
  const end = await run.follow({
    concurrency: 1,
    onProgress: ({ kind }) => {
      if (kind === "status") looks += 1;
    },
  });
  expect(end).toMatchObject({ state: "over", jobs: { done: 20 } });
  expect(looks).toBeLessThan(20);
});

test("the same options continue a run: known jobs stay, new ones are added, and failed ones are tried again if asked", async () => {
  const runs = await opened();
  const of = (inputs: RunOptions["inputs"], more: Partial<RunOptions> = {}) =>
    runs.submit({ script: DOUBLE, name: "double", inputs, ...more });
  await (await of(numbers(1, 3))).follow();
  async function* later() {
    yield* numbers(1, 2);
  }
  const run = await of(later());
  expect(run.jobs).toEqual({ all: 2, added: 1, again: 0 });
  expect(await run.follow()).toMatchObject({ jobs: { all: 3, done: 2, failed: 1 } });
  expect((await collected(run.results())).map(({ job }) => job)).toEqual(["n1", "n2"]);
  const again = await of(numbers(3), { retry: ["failed"] });
  expect(again.jobs).toEqual({ all: 1, added: 0, again: 1 });
  const other = await of(numbers(1), { isNew: true });
  expect(other.name).toBe("double-2");
});

test("a changed input is named before anything is written", async () => {
  const runs = await opened();
  const of = (n: number, more: Partial<RunOptions> = {}) =>
    runs.submit({ script: DOUBLE, name: "double", inputs: [{ id: "a", n }], ...more });
  await (await of(1)).follow();
  expect(await refusal(of(2))).toBe(
    "run_differs: the inputs: 1 input changed since: a; nothing was written | " +
      'Run what has changed again: retry: ["changed"]. isNew: true begins another run.',
  );
  const run = await of(2, { retry: ["changed"] });
  await run.follow();
  expect(await collected(run.results())).toMatchObject([{ job: "a", result: 4 }]);
  expect(await refusal(of(2, { script: "job.n" }))).toContain(
    "run_differs: the run double was begun with another script",
  );
});

test("contexts are one for all jobs, or that which a field names, within the roots", async () => {
  const folder = folderWith({ "in/a.txt": "alpha", "in/b.txt": "be", "out.txt": "x" });
  const runs = await opened({ roots: [join(folder, "in")] });
  const length = { script: "P.length", contextField: "file" };
  const each = await runs.submit({
    ...length,
    inputs: ["a.txt", "b.txt"].map((name) => ({ file: join(folder, "in", name) })),
  });
  await each.follow();
  expect((await collected(each.results())).map(({ result }) => result)).toEqual([5, 2]);
  const outside = runs.submit({ ...length, inputs: [{ file: join(folder, "out.txt") }] });
  expect(await refusal(outside)).toContain("invalid_argument: submit(): input 1 names the context");
  const shared = await runs.submit({ script: "P + job", context: { text: "P", name: "p.txt" }, inputs: ["1", "2"] });
  await shared.follow();
  expect((await collected(shared.results())).map(({ result }) => result)).toEqual(["P1", "P2"]);
});

test.each<[options: object, told: string]>([
  [{ scripts: "1" }, "unknown option scripts; did you mean script?"],
  [{ script: 1 }, "script must be a text, or an object with name and source, and is 1"],
  [{ inputs: { n: 1 } }, "inputs must be a list of JSON values, or another iterable"],
  [{ name: "out" }, "name must be up to 100 letters"],
  [{ retry: ["all"] }, "retry.0 must be failed, cancelled or changed"],
  [{ budget: { max_functions: 1 } }, "unknown option budget.max_functions"],
  [{ inputs: [] }, "submit(): inputs no job found in the inputs"],
  [{ inputs: [1, undefined] }, "submit(): input 2 is not JSON: it is of type undefined"],
  [{ inputs: [1n] }, "submit(): input 1 is not JSON: Do not know how to serialize a BigInt"],
  [{ inputs: ["x".repeat(2 ** 20)] }, "submit(): input 1 is longer than 1 MB"],
  [{ inputs: [{ id: "a" }, { id: "a" }] }, 'submit(): input 2 has the id "a", and so has input 1'],
])("a caller's mistake is named, and leaves no run: %#", async (options, told) => {
  const runs = await opened();
  const asked: RunOptions = Object.assign({ script: "1", inputs: [1], name: "mistake" }, options);
  expect(await refusal(runs.submit(asked))).toContain(told);
  const made = await runs.submit({ script: "1", inputs: [1], name: "mistake" });
  expect(made.jobs).toMatchObject({ all: 1, added: 1 });
});

test("a script that asks a model needs one, and the options take undefined", async () => {
  const runs = await opened({ baseUrl: undefined });
  expect(await refusal(runs.submit({ script: 'await llm_query("?")', inputs: [1], model: undefined }))).toContain(
    "no_model_configured: script asks a model, and the run names none",
  );
  expectTypeOf<{ work: undefined; signal: undefined }>().toExtend<FollowOptions>();
});

test("an aborted signal suspends the jobs, and no recorded answer is asked for twice", async () => {
  const held = Promise.withResolvers<void>();
  await using server = await startModelServer(async ({ prompt }) => {
    if (prompt === "slow") await held.promise;
    return { text: `said ${prompt}` };
  });
  const runs = await opened({ baseUrl: server.url });
  const script = 'const first = await llm_query("quick"); [first, await llm_query("slow")]';
  const of = () => runs.submit({ script, inputs: [1], model: "local/m", name: "asks" });
  const stop = new AbortController();
  const first = await of();
  const following = first.follow({ signal: stop.signal });
  await expect.poll(() => server.requests.length).toBe(2);
  stop.abort();
  expect(await following).toMatchObject({ state: "waiting", jobs: { waiting: 1 } });
  held.resolve();
  const second = await of();
  expect(await second.follow()).toMatchObject({ state: "over", spent: { sub_calls: 2 } });
  expect(await collected(second.results())).toMatchObject([{ result: ["said quick", "said slow"], resumed: 1 }]);
  expect(server.requests.map(({ prompt }) => prompt)).toEqual(["quick", "slow", "slow"]);
});

test("a killed process leaves a run that the same program continues", async () => {
  const folder = folderWith({});
  mkdirSync(join(folder, "home"));
  const isBundled = process.env.VITEST_MODE === "RUN";
  const entry = JSON.stringify(
    isBundled ? join(BUNDLED, "src/runs/open-runs.js") : join(ROOT, "src/runs/open-runs.ts"),
  );
  writeFileSync(
    join(folder, "program.ts"),
    `import { openRuns } from ${entry};
const runs = await openRuns({ store: "state" });
const inputs = Array.from({ length: 6 }, (_, n) => ({ id: String(n), n }));
const run = await runs.submit({ script: "job.n * 2", inputs });
await run.follow({
  concurrency: 1,
  onProgress: (event) => {
    if (process.argv[2] === "dies" && event.kind === "status") process.kill(process.pid, "SIGKILL");
  },
});
const results = [];
for await (const { job, result } of run.results()) results.push([job, result]);
console.log(JSON.stringify({ added: run.jobs.added, results }));
await runs.close();
`,
  );
  const options = { cwd: folder, env: { ...process.env, BELAY_HOME: join(folder, "home") } };
  const dead = await run(process.execPath, ["program.ts", "dies"], options);
  expect(dead.output).not.toContain("results");
  const { output } = await run(process.execPath, ["program.ts"], options);
  const results: Json = [0, 1, 2, 3, 4, 5].map((n) => [String(n), 2 * n]);
  expect(JSON.parse(output)).toEqual({ added: 0, results });
}, 30_000);
