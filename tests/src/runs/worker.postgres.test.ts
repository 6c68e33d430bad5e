import { describe, expect, test } from "vitest";
import { openPgBoss } from "../../../src/runs/index.ts";
import type { Store } from "../../../src/store/index.ts";
import { shareStore } from "../../../src/store/index.ts";
import { heldClock } from "../../support/held-clock.ts";
import { type RunSceneOptions, runScene, withJobs } from "../../support/jobs/run.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";
import { openSql } from "../../support/postgres/sql.ts";

const ASK =
  'const a = await llm_query("a" + job, { tools: [] }); const b = await llm_query("b" + job, { tools: [] }); a + b';

test.skipIf(NO_POSTGRES)(
  "over a server, workers share a run: each job is done once, and its money adds up",
  async () => {
    const place = await freshStoreUrl();
    const { submit, works, jobs, results, server, store } = await runScene(ASK, {
      folder: place,
      script: ({ prompt }) => ({ text: prompt }),
    });
    const { run } = await submit([1, 2, 3, 4]);
    await Promise.all([works({ run, concurrency: 2 }), works({ run, concurrency: 2 })]);
    expect(await results(run)).toEqual([1, 2, 3, 4].map((n) => `a${n}b${n}`));
    expect(server.requests).toHaveLength(8);
    const all = await jobs(run);
    expect(all.map(({ state, fence }) => [state, fence >= 1])).toEqual(all.map(() => ["done", true]));
    const { spent, held, doubtful } = (await store.jobs.run(run.id)) ?? run;
    expect(spent.tokens).toBe(all.reduce((sum, job) => sum + job.spent.tokens, 0));
    expect([held.tokens, doubtful.tokens, spent.sub_calls]).toEqual([0, 0, 8]);
  },
);

test.skipIf(NO_POSTGRES)("over a server, a try that was replaced changes nothing: the job is the other's", async () => {
  const place = await freshStoreUrl();
  await using other = await shareStore(place);
  let isTaken = false;
  const around = (kept: Store) =>
    withJobs(kept, {
      async finish(key, fence, outcome) {
        // As if the lease had lapsed: another try has taken the session and begun the job.
        if (!isTaken) await replaced(key, fence);
        isTaken = true;
        return kept.jobs.finish(key, fence, outcome);
      },
    });
  async function replaced(key: Parameters<Store["jobs"]["finish"]>[0], fence: number) {
    const found = await other.jobs.read(key);
    const session = found?.job.session ?? "";
    await kept.release(session);
    const lease = await other.lease(session);
    expect(lease.fence).toBeGreaterThan(fence);
    await other.jobs.begin(key, { ticket: "other", fence: lease.fence, engine: null, lapses: 0, answers: 0 });
  }
  const { submit, works, jobs, store: kept } = await runScene("job", { folder: place, around });
  const { run } = await submit([1]);
  await works({ run, on: (progress, stop) => progress.kind === "left" && stop() });
  expect(await jobs(run)).toMatchObject([{ state: "running", ticket: "other", told: null }]);
});

const QUICK = { touch: 1, poll: 0.5, pollDead: 0.5, retry: 0 };

/** A run whose tickets pg-boss hands out. */
async function queueScene(source: string, options: RunSceneOptions = {}) {
  const url = await freshStoreUrl();
  const scene = await runScene(source, {
    folder: url,
    script: ({ prompt }) => ({ text: prompt }),
    openDispatcher: (queue) => openPgBoss({ url, queue, periods: QUICK }),
    ...options,
  });
  return { ...scene, url };
}

/** Fails as a process does that ends: the queue is told nothing but that. */
const ended = () => new TypeError("the process ended");

describe.skipIf(NO_POSTGRES !== null)(NO_POSTGRES ?? "workers whose tickets pg-boss hands out", () => {
  test("a job that ends every process that tries it is a dead letter, and its neighbours are done", async () => {
    const around = (kept: Store) =>
      withJobs(kept, {
        async begin(key, taking) {
          const isBegun = await kept.jobs.begin(key, taking);
          if (key.n === 1 && taking.lapses <= 5) throw ended();
          return isBegun;
        },
      });
    const { url, submit, works, jobs, results, server } = await queueScene(ASK, { around });
    const { run } = await submit([0, 1, 2, 3]);
    const childEntry = new URL("../../support/jobs/crashing-child-entry.ts", import.meta.url);
    const told = await works({ run, place: url, childEntry });
    expect(await results(run)).toEqual(["a0b0", null, "a2b2", "a3b3"]);
    expect((await jobs(run))[1]).toMatchObject({
      state: "failed",
      told: { error_code: "job_crashed", error: expect.stringContaining("exit code 134: FATAL ERROR: out of memory") },
    });
    // Lapses 2 to 5 are those of processes of its own.
    expect(told.filter(({ kind }) => kind === "said")).toHaveLength(4);
    expect(server.requests).toHaveLength(6);
  });

  test("a worker that dies between the end of a job and that of its ticket: the next try finds the job final", async () => {
    const again = Promise.withResolvers<void>();
    let isOver = false;
    const around = (kept: Store) =>
      withJobs(kept, {
        async read(key) {
          if (key.n === 0 && isOver) again.resolve();
          return kept.jobs.read(key);
        },
        async finish(key, fence, outcome) {
          const isFinished = await kept.jobs.finish(key, fence, outcome);
          if (key.n !== 0) return isFinished;
          isOver = true;
          throw ended();
        },
      });
    const { url, submit, works, jobs, results, server } = await queueScene(ASK, {
      around,
      // The run goes on until the ticket has come again.
      script: async ({ prompt }) => {
        if (prompt === "b2") await again.promise;
        return { text: prompt };
      },
    });
    const { run } = await submit([1, 2]);
    await works({ run });
    expect(await results(run)).toEqual(["a1b1", "a2b2"]);
    expect((await jobs(run)).map(({ fence, lapses }) => [fence, lapses])).toEqual([
      [1, 0],
      [1, 0],
    ]);
    expect(server.requests).toHaveLength(4);
    await using sql = await openSql(url);
    expect(await sql.query("SELECT state, retry_count FROM QUEUE.job ORDER BY priority DESC")).toEqual([
      { state: "completed", retry_count: 1 },
      { state: "completed", retry_count: 0 },
    ]);
  });

  test("after 23 hours a job is suspended, and the next try goes on with what is recorded", async () => {
    let hangs = true;
    const { url, submit, works, jobs, results, server } = await queueScene(ASK, {
      script: ({ prompt }) => (hangs && prompt === "b1" ? { text: "", end: "stuck" } : { text: prompt }),
    });
    const { run } = await submit([1]);
    const { clock, pass } = heldClock((ms) => ms === 23 * 3600_000);
    const isStuck = () => server.requests.some(({ prompt }) => prompt === "b1");
    const day = expect.poll(isStuck).toBe(true);
    const passed = day.then(() => {
      hangs = false;
      pass();
    });
    const told = await works({ run, clock });
    await passed;
    expect(await results(run)).toEqual(["a1b1"]);
    expect(server.requests.map(({ prompt }) => prompt)).toEqual(["a1", "b1", "b1"]);
    expect(told.flatMap((one) => (one.kind === "left" ? [one.state] : []))).toEqual(["waiting", "done"]);
    expect(await jobs(run)).toMatchObject([{ lapses: 0, attempts: 0 }]);
    await using sql = await openSql(url);
    expect(await sql.query("SELECT retry_count FROM QUEUE.job")).toEqual([{ retry_count: 0 }, { retry_count: 0 }]);
  });

  test("jobs that were never offered, and those whose queue was dropped, are found by the sweeps of workers", async () => {
    const { url, submit, works, jobs, results, server } = await queueScene('await llm_query("a" + job, { tools: [] })');
    await using sql = await openSql(url);
    const tenMinutesPass = () => sql.query("UPDATE STORE.jobs SET changed_at = changed_at - 700000");
    // The submitter died before it offered a ticket.
    const { run } = await submit([1, 2, 3, 4, 5, 6]);
    await tenMinutesPass();
    let left = 0;
    let dropped: Promise<unknown> | undefined;
    await works({
      run,
      offers: false,
      concurrency: 1,
      on({ kind }, stop) {
        if (kind !== "left" || ++left !== 2) return;
        dropped = sql.query("DROP SCHEMA QUEUE CASCADE").then(stop);
      },
    });
    await dropped;
    const states = (await jobs(run)).map(({ state }) => state);
    expect(states.filter((state) => state === "done").length).toBeLessThan(6);
    // A new worker makes the queue anew. At its start nothing is overdue; ten minutes later it looks again. A model on
    // this computer has exactly ten minutes for an answer: they do not pass.
    const { clock, pass } = heldClock((ms) => ms >= 540_000 && ms <= 660_000 && ms !== 600_000);
    const working = works({ run, offers: false, clock });
    await tenMinutesPass();
    const done = async () => (await jobs(run)).every(({ state }) => state === "done");
    await expect
      .poll(
        async () => {
          pass();
          return done();
        },
        { timeout: 20_000 },
      )
      .toBe(true);
    await working;
    expect(await results(run)).toEqual([1, 2, 3, 4, 5, 6].map((n) => `a${n}`));
    expect(server.requests).toHaveLength(6);
  });

  test("two workers send as many requests as the run's limit allows, and a raised one goes on: nothing is paid again", async () => {
    const { url, submit, works, jobs, results, runs, server, store } = await queueScene(ASK, {
      limits: { sub_calls: 7 },
    });
    const { run } = await submit([1, 2, 3, 4, 5, 6]);
    const both = (offers: boolean) =>
      Promise.all([works({ run, concurrency: 2, offers }), works({ run, concurrency: 2, offers })]);
    await both(true);
    expect(server.requests).toHaveLength(7);
    expect(await store.jobs.run(run.id)).toMatchObject({
      state: "paused",
      why: "budget: sub_calls",
      spent: { sub_calls: 7 },
      held: { sub_calls: 0 },
      doubtful: { sub_calls: 0 },
    });
    expect((await jobs(run)).map(({ state }) => state)).toContain("parked");
    await store.jobs.limit(run.id, { nanodollars: null, tokens: null, sub_calls: 12 });
    {
      await using dispatcher = await openPgBoss({ url, queue: run.queue, periods: QUICK });
      await runs.change(run, { to: "resume" }, dispatcher);
    }
    await both(false);
    expect(await results(run)).toEqual([1, 2, 3, 4, 5, 6].map((n) => `a${n}b${n}`));
    expect(server.requests).toHaveLength(12);
  });
});
