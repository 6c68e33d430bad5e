import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { RlmError } from "../../../runtime/index.ts";
import { dueJobs } from "../../../src/runs/runs.ts";
import type { Store } from "../../../src/store/index.ts";
import { collected } from "../../support/collected.ts";
import { runScene, stopOnce, withJobs } from "../../support/jobs/run.ts";
import { storeAround } from "../../support/store-around.ts";
import { folderWith } from "../../support/tree.ts";

const ASK = 'const said = await llm_query("about " + job.name, { tools: [] }); [job.name, said]';
const names = (count: number) => Array.from({ length: count }, (_, n) => ({ name: `n${n}` }));
const echo = ({ prompt }: { readonly prompt: string }) => ({ text: prompt.toUpperCase() });

test("the script runs once for each input, and each job's result, spending and session are kept", async () => {
  const { submit, works, jobs, results, server, store } = await runScene(ASK, { script: echo });
  const { run, ...submitted } = await submit(names(3));
  expect(submitted).toEqual({ added: 3, anew: 0, order: [0, 1, 2], made: true });
  const told = await works({ run });
  expect(await results(run)).toEqual([0, 1, 2].map((n) => [`n${n}`, `ABOUT N${n}`]));
  expect(server.requests).toHaveLength(3);
  for (const job of await jobs(run)) {
    expect(job).toMatchObject({ state: "done", told: { sub_calls: 1, output: "", resumed: 0, session: job.session } });
    expect((await store.find(job.session))?.origin).toBe("batch");
  }
  const { spent, held, doubtful } = (await store.jobs.run(run.id)) ?? run;
  expect(spent.sub_calls).toBe(3);
  expect(spent.tokens).toBe((await jobs(run)).reduce((sum, job) => sum + job.spent.tokens, 0));
  expect([held, doubtful].every(({ tokens, sub_calls }) => tokens + sub_calls === 0)).toBe(true);
  expect(told.filter(({ kind }) => kind === "left")).toHaveLength(3);
  // The same line again sends nothing.
  expect(await submit(names(4))).toMatchObject({ added: 1, order: [0, 1, 2, 3], made: false });
  await works({ run });
  expect(server.requests).toHaveLength(4);
});

test("a job's context is loaded by its hash: its cell sees no file and no folder", async () => {
  const { submit, works, results, runs, store } = await runScene("[P, session().sources.length, list_docs()[0].id]", {
    spec: { context: "each" },
  });
  const folder = folderWith({ "a.txt": "the text of a file" });
  const hash = await runs.keepContext("a.txt", { cwd: folder, roots: [folder] });
  const { run } = await submit([1, 2], hash);
  await works({ run, own: { cwd: "/nowhere" } });
  const [first, second] = await results(run);
  expect(first).toEqual([expect.stringContaining("the text of a file"), 1, expect.stringContaining("a.txt")]);
  expect(second).toEqual(first);
  const [job] = await store.jobs.list(run.id, { from: 0, limit: 1 });
  const records = await store.journal(job?.session ?? "");
  expect(JSON.stringify(records)).not.toContain(folder);
});

test("a worker says that jobs were begun by another build, and leaves them alone", async () => {
  const { submit, works, jobs, store } = await runScene("1");
  const { run } = await submit([1]);
  const key = { run: run.id, n: 0 };
  await store.jobs.begin(key, { ticket: "t", fence: 0, engine: '{"of":"another"}', lapses: 0, answers: 0 });
  await store.jobs.put(key, 0, { state: "waiting", why: null, afterMs: 0, counts: false });
  const told = await works({ run, on: (progress, stop) => progress.kind === "said" && stop() });
  const text = `jobs of ${run.name} were begun by another build of Belay, and wait for a worker of that one`;
  expect(told).toEqual([{ kind: "said", text }]);
  expect(await jobs(run)).toMatchObject([{ state: "waiting", ticket: "t" }]);
});

test("a cell that fails fails its job, and what it printed is kept", async () => {
  const { submit, works, jobs } = await runScene('print("so far"); throw new TypeError("no")');
  const { run } = await submit([1]);
  await works({ run });
  expect(await jobs(run)).toMatchObject([
    { state: "failed", told: { error_code: "js_error", error: "TypeError: no", output: "so far\n" } },
  ]);
});

test("Ctrl-C suspends every job where it is, and a later worker goes on: no recorded answer is requested again", async () => {
  const cell =
    'const a = await llm_query("a" + job, { tools: [] }); const b = await llm_query("b" + job, { tools: [] }); a + b';
  let hangs = true;
  const { submit, works, jobs, results, server, store } = await runScene(cell, {
    folder: join(folderWith(), "store"),
    script: ({ prompt }) => (hangs && prompt.startsWith("b") ? { text: "", end: "stuck" } : { text: prompt }),
  });
  const { run } = await submit([1, 2]);
  const stuck = () => server.requests.filter(({ prompt }) => prompt.startsWith("b")).length;
  await works({ run, on: stopOnce(() => stuck() === 2) });
  expect((await jobs(run)).map(({ state, lapses }) => [state, lapses])).toEqual([
    ["waiting", 0],
    ["waiting", 0],
  ]);
  hangs = false;
  const told = await works({ run });
  expect(await results(run)).toEqual(["a1b1", "a2b2"]);
  expect(server.requests.map(({ prompt }) => prompt).filter((prompt) => prompt.startsWith("a"))).toHaveLength(2);
  expect(told.filter(({ kind }) => kind === "begun")).toMatchObject([{ resumed: true }, { resumed: true }]);
  // The requests that were cut may have been charged.
  expect((await store.jobs.run(run.id))?.doubtful.sub_calls).toBe(2);
});

test("a job whose process is killed again and again, but records an answer each time, has its lapses counted anew", async () => {
  const CALLS = 5;
  const cell = `let all = ""; for (let i = 0; i < ${CALLS}; i++) all += await llm_query("" + i, { tools: [] }); all`;
  let life = 0;
  // A killed process gives nothing back.
  const around = (kept: Store) =>
    withJobs(kept, { put: () => Promise.reject(new RlmError("store_failed", "killed", { suggestion: "" })) });
  const { submit, works, jobs, results, server } = await runScene(cell, {
    around,
    script: ({ prompt }) => (Number(prompt) > life ? { text: "", end: "stuck" } : { text: prompt }),
  });
  const { run } = await submit([1]);
  const lapses: (number | undefined)[] = [];
  for (; life < CALLS; life++) {
    const isStuck = () => server.requests.some(({ prompt }) => Number(prompt) > life);
    await works({ run, on: stopOnce(isStuck) });
    lapses.push((await jobs(run))[0]?.lapses);
  }
  expect(lapses).toEqual([0, 1, 2, 0, 1]);
  expect(await results(run)).toEqual(["01234"]);
  expect(server.requests).toHaveLength(2 * CALLS - 1);
});

test("a run's limit parks its jobs, and a raised one goes on: nothing is asked twice", async () => {
  const cell =
    'const all = []; for (let i = 0; i < 3; i++) all.push(await llm_query(job + "-" + i, { tools: [] })); all';
  const { submit, works, jobs, results, server, store, runs } = await runScene(cell, {
    script: ({ prompt }) => ({ text: prompt }),
    limits: { sub_calls: 4 },
  });
  const { run } = await submit(["x", "y"]);
  await works({ run });
  expect(await store.jobs.run(run.id)).toMatchObject({
    state: "paused",
    why: "budget: sub_calls",
    spent: { sub_calls: 4 },
  });
  expect((await jobs(run)).map(({ state }) => state)).toContain("parked");
  expect(server.requests).toHaveLength(4);
  await store.jobs.limit(run.id, { nanodollars: null, tokens: null, sub_calls: 6 });
  await runs.change(run, { to: "resume" }, null);
  await works({ run });
  expect(await results(run)).toEqual([
    ["x-0", "x-1", "x-2"],
    ["y-0", "y-1", "y-2"],
  ]);
  expect(server.requests).toHaveLength(6);
  expect(await store.jobs.run(run.id)).toMatchObject({
    spent: { sub_calls: 6 },
    held: { sub_calls: 0 },
    doubtful: { sub_calls: 0 },
  });
});

test("a job that waits for its provider goes on as soon as its run is resumed and its jobs are offered", async () => {
  let refused = 0;
  const resumed = Promise.withResolvers<void>();
  const { submit, works, results, runs } = await runScene('await llm_query("a" + job, { tools: [] })', {
    async script({ prompt }) {
      if (prompt === "a1" && refused++ === 0) return { status: 429, headers: { "retry-after": "3600" } };
      if (prompt === "a2") await resumed.promise;
      return { text: prompt };
    },
  });
  const { run } = await submit([1, 2]);
  await works({
    run,
    concurrency: 1,
    on(told, _stop, dispatcher) {
      // The ticket of the first waits by now. As another terminal resumes it, and this one sees that jobs wait.
      if (told.kind !== "begun" || told.key.n !== 1) return;
      const offered = runs.change(run, { to: "resume" }, null).then(() => runs.offer(run, dispatcher));
      offered.then(resumed.resolve, resumed.reject);
    },
  });
  expect([await results(run), refused]).toEqual([["a1", "a2"], 2]);
});

test.each([
  ["wants a long wait", { "retry-after": "3600" }, 1, 3_000_000],
  ["refuses a call and its retries", {}, 4, 50_000],
])("a provider that %s suspends the job, and everything recorded stays", async (_, headers, refused, atLeastMs) => {
  const cell = 'const a = await llm_query("a", { tools: [] }); const b = await llm_query("b", { tools: [] }); a + b';
  const { submit, works, jobs, server } = await runScene(cell, {
    script: ({ prompt }) => (prompt === "b" ? { status: 429, headers } : { text: "A" }),
  });
  const { run } = await submit([1]);
  await works({
    run,
    on(progress, stop) {
      if (progress.kind === "left") stop();
    },
  });
  expect(server.requests).toHaveLength(1 + refused);
  const [job] = await jobs(run);
  expect(job).toMatchObject({ state: "parked", why: "provider", attempts: 0 });
  expect((job?.run_at ?? 0) - Date.now()).toBeGreaterThan(atLeastMs);
});

test("a retried job gets a fresh session, and answers that it had are not asked again", async () => {
  const { submit, works, jobs, results, server, runs } = await runScene(
    'const a = await llm_query("a", { tools: [] }); const b = await llm_query("b", { tools: [] }); if (b === "bad") throw new Error(b); a + b',
    { script: ({ prompt, index }) => ({ text: prompt === "a" ? "A" : index < 2 ? "bad" : "B" }) },
  );
  const { run } = await submit([1]);
  await works({ run });
  const [failed] = await jobs(run);
  expect(failed?.state).toBe("failed");
  await runs.change(run, { to: "retry", ids: null, states: ["failed"], fresh: false }, null);
  await works({ run });
  const [again] = await jobs(run);
  expect(again).toMatchObject({ state: "failed", told: { error: "Error: bad" } });
  expect(again?.session).not.toBe(failed?.session);
  expect(server.requests).toHaveLength(2);
  expect(await results(run)).toEqual([null]);
});

test("a job that is cancelled while it runs ends cancelled at once, and its neighbours go on", async () => {
  const { submit, works, jobs, runs, server } = await runScene(ASK, {
    script: ({ prompt }) => (prompt === "about n0" ? { text: "", end: "stuck" } : { text: "yes" }),
  });
  const { run } = await submit(names(2));
  const isStuck = () => server.requests.some(({ prompt }) => prompt === "about n0");
  let isWatched = false;
  await works({
    run,
    on(_progress, _stop, dispatcher) {
      if (isWatched) return;
      isWatched = true;
      const cancel = () => runs.change(run, { to: "cancel", ids: ["job-0"] }, dispatcher);
      void expect.poll(isStuck).toBe(true).then(cancel);
    },
  });
  expect((await jobs(run)).map(({ state }) => state)).toEqual(["cancelled", "done"]);
});

test("a worker offers jobs that have lost their tickets, at its start and page by page", async () => {
  const lost: { readonly overdueMs: number; readonly limit: number }[] = [];
  const around = (store: Store) =>
    withJobs(store, {
      // Nobody else offers: what the worker finds overdue is all that there is.
      due: async (page) => {
        if (page.overdueMs === 0) return [];
        lost.push(page);
        return store.jobs.due({ ...page, overdueMs: 0 });
      },
    });
  const { submit, works, results } = await runScene("job", { around });
  const { run } = await submit([1, 2]);
  await works({ run });
  expect(await results(run)).toEqual([1, 2]);
  expect(lost).toMatchObject([{ overdueMs: 600_000, limit: 1000 }]);
});

test("a sweep reads pages until it has enough, each behind the one before", async () => {
  const all = Array.from({ length: 2500 }, (_, n) => ({ run: "R", n, rank: n, lapses: 0, afterMs: 0 }));
  const pages: (number | null)[] = [];
  const jobs: Pick<Store["jobs"], "due"> = {
    async due({ after, limit }) {
      pages.push(after?.n ?? null);
      const from = after === null ? 0 : after.n + 1;
      return all.slice(from, from + limit);
    },
  };
  expect(await collected(dueJobs(jobs, "q", { overdueMs: 0 }))).toEqual(all);
  expect(pages).toEqual([null, 999, 1999]);
  expect(await collected(dueJobs(jobs, "q", { overdueMs: 0, most: 1200 }))).toEqual(all.slice(0, 1200));
});

test("an end by a lost machine is counted once, by whichever try finds it, and then the script runs anew", async () => {
  const error = { name: "Error", message: "the machine was lost", line: null, column: null, traceback: "" };
  let die: (() => void) | null = () => {};
  const around = (kept: Store): Store => ({
    ...kept,
    async commit(session, step) {
      // What the store would have if the machine had been lost.
      const records = step.records?.map((record) =>
        record.record === "rlm_complete" && die
          ? {
              ...record,
              success: false,
              error_code: "machine_lost",
              end: { kind: "error", code: "machine_lost", error },
            }
          : record,
      );
      return kept.commit(session, records ? { ...step, records } : step);
    },
    jobs: {
      ...kept.jobs,
      async finish(key, fence, outcome) {
        if (!die) return kept.jobs.finish(key, fence, outcome);
        // The worker dies between the end of the session and that of the job.
        die();
        throw new RlmError("store_failed", "gone", { suggestion: "" });
      },
      // Nobody waits for the next attempt here.
      async read(key) {
        const found = await kept.jobs.read(key);
        return found && { ...found, job: { ...found.job, run_at: null } };
      },
    },
  });
  const { submit, works, jobs, results, server } = await runScene('await llm_query("?", { tools: [] })', { around });
  const { run } = await submit([1]);
  await works({
    run,
    on(_progress, stop) {
      if (die) die = stop;
    },
  });
  die = null;
  const life = () => works({ run, on: (progress, stop) => progress.kind === "left" && stop() });
  await life();
  expect(await jobs(run)).toMatchObject([{ state: "waiting", why: "machine_lost", attempts: 1 }]);
  await life();
  expect(await jobs(run)).toMatchObject([{ state: "done", attempts: 1 }]);
  // The answer that the first attempt had is its own: it is not requested again.
  expect([await results(run), server.requests.length]).toEqual([["yes"], 1]);
});

test("the end of a job that succeeds has no image, unless sessions are kept; one that fails keeps its state", async () => {
  async function imagesOf(source: string, keep_sessions: boolean) {
    const images: (string | null)[] = [];
    const around = (kept: Store): Store => ({
      ...kept,
      commit(session, step) {
        images.push(step.checkpoint?.kind ?? null);
        return kept.commit(session, step);
      },
    });
    const { submit, works } = await runScene(source, { around, spec: { keep_sessions } });
    await works({ run: (await submit([1])).run });
    return images;
  }
  expect(await imagesOf("job", false)).toEqual([null, null]);
  expect(await imagesOf("job", true)).toEqual([null, "end"]);
  expect(await imagesOf("throw new Error(job)", false)).toEqual([null, "end"]);
});

test("a run asks only the models that the worker allows, in its specification and in its cells", async () => {
  const { submit, works, jobs, store, server } = await runScene(ASK);
  const { run } = await submit(names(1));
  await works({ run, own: { models: ["local/other"] } });
  expect(server.requests).toHaveLength(0);
  expect(await store.jobs.run(run.id)).toMatchObject({ state: "paused", why: expect.stringContaining("local/m") });
  expect(await jobs(run)).toMatchObject([{ state: "waiting" }]);

  const cell = 'await llm_query("?", { tools: [], model: "local/dear" })';
  const dear = await runScene(cell);
  const { run: second } = await dear.submit([1]);
  await dear.works({ run: second, own: { models: ["local/m"] } });
  expect(await dear.jobs(second)).toMatchObject([{ state: "waiting", why: "no_model_configured" }]);
  expect((await dear.store.jobs.run(second.id))?.why).toContain("does not ask local/dear");
  expect(dear.server.requests).toHaveLength(0);
});

test("a hostile row grants nothing: neither a server, nor a key, nor a limit above the worker's", async () => {
  const seen: string[] = [];
  const { submit, jobs, store, server } = await runScene(
    '[budget(), limits().max_execution_ms, await llm_query("?", { tools: [] })]',
    { spec: { budget: { max_tokens: 10_000_000, max_sub_calls: 1000 }, limits: { max_execution_ms: 100_000 } } },
  );
  const { run } = await submit([1]);
  const row = await store.jobs.run(run.id);
  expect(JSON.stringify(row?.spec)).not.toMatch(/base_url|api_key|roots/);
  const hostile = {
    ...Object(row?.spec),
    base_url: "http://127.0.0.1:1/v1",
    api_key_env: "HOME",
    roots: ["/"],
    cwd: "/",
  };
  const spying: Store = {
    ...store,
    jobs: {
      ...store.jobs,
      async read(key) {
        const found = await store.jobs.read(key);
        seen.push("read");
        return found && { ...found, run: { ...found.run, spec: hostile } };
      },
    },
  };
  const own = { budget: { max_tokens: 5000, max_cost_usd: null }, limits: { max_execution_ms: 2000 } };
  const attacked = await runScene("1", { around: () => spying });
  await attacked.works({ run, own: { ...own, baseUrl: server.url } });
  expect(seen.length).toBeGreaterThan(0);
  expect(server.requests).toHaveLength(1);
  expect(server.requests[0]?.headers.authorization ?? "").not.toContain(process.env.HOME ?? "HOME");
  const [job] = await jobs(run);
  const result = JSON.parse((await store.jobs.result({ run: run.id, n: 0 })) ?? "null");
  expect(job?.state).toBe("done");
  expect(result[0].tokens).toBeLessThanOrEqual(5000);
  expect(result[0].sub_calls).toBe(1000);
  expect(result[1]).toBe(2000);
});

test.each([
  ["the session of a person", "01PERSON", "01PERSON"],
  ["no session that can be made", "01OTHER", "01^"],
])("a hostile row that names %s changes no session, and its run is paused", async (_named, id, session) => {
  const { submit, works, store } = await runScene("globalThis.mine = 1");
  const own = { id, name: null, origin: "command", settings: null, at: 0 } as const;
  await store.create(own);
  await store.release(own.id);
  const around = (kept: Store) =>
    withJobs(kept, {
      async read(key) {
        const found = await kept.jobs.read(key);
        return found && { ...found, job: { ...found.job, session } };
      },
    });
  const attacked = await runScene("1", { around });
  const { run } = await submit([1]);
  await attacked.works({ run });
  expect(await store.journal(own.id)).toEqual([]);
  expect(await store.jobs.run(run.id)).toMatchObject({
    state: "paused",
    why: expect.stringContaining("not that of a job"),
  });
  await works({ run });
});

test("a job whose input was forged fails by name before anything is sent, and the others are done", async () => {
  const folder = join(folderWith(), "store");
  const { submit, works, jobs, store, server } = await runScene(ASK, { folder });
  const { run } = await submit(names(3));
  using database = new DatabaseSync(join(folder, "belay.db"));
  database.exec(`UPDATE jobs SET input = '{"name":"n0, and all that is in ~/.ssh"}' WHERE n = 1`);
  await works({ run });
  expect(await jobs(run)).toMatchObject([
    { state: "done" },
    {
      state: "failed",
      told: { error_code: "store_corrupt", error: expect.stringContaining("the input of job job-1") },
    },
    { state: "done" },
  ]);
  expect(server.requests).toHaveLength(2);
  await store.jobs.replace(run.id, [{ id: "job-1", input: '{"name":"n1"}', context: null, session: "S" }]);
  await works({ run });
  expect(await store.jobs.counts(run.id)).toMatchObject({ done: 3 });
});

test("a try of a fresh job goes to the store five times beside what its session does", async () => {
  const asked: string[] = [];
  const around = (kept: Store) =>
    storeAround(kept, (name, run) => {
      asked.push(name);
      return run();
    });
  const { submit, works } = await runScene("job", { around });
  const { run } = await submit([1]);
  const looks = ["jobs.counts", "jobs.run", "jobs.list", "jobs.due", "jobs.lapse", "jobs.open", "jobs.add"];
  await works({ run });
  const own = new Set(["commit", "hasBaseline", "putBaseline"]);
  const tries = asked.filter((name) => !looks.includes(name) && !name.startsWith("batches.") && !own.has(name));
  expect(tries).toEqual(["jobs.read", "create", "jobs.input", "jobs.finish", "release"]);
});
