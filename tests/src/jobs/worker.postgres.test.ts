import { expect, test } from "vitest";
import type { Store } from "../../../src/store/index.ts";
import { shareStore } from "../../../src/store/index.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";
import { runScene } from "../../support/run-scene.ts";

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

test.skipIf(NO_POSTGRES)(
  "over a server, a worker that stops leaves its jobs to another one, which asks for nothing twice",
  async () => {
    const place = await freshStoreUrl();
    let hangs = true;
    const { submit, works, results, server } = await runScene(ASK, {
      folder: place,
      script: ({ prompt }) => (hangs && prompt.startsWith("b") ? { text: "", end: "stuck" } : { text: prompt }),
    });
    const { run } = await submit([1]);
    const isStuck = () => server.requests.some(({ prompt }) => prompt === "b1");
    await works({
      run,
      on(progress, stop) {
        if (progress.kind === "calls")
          void expect
            .poll(isStuck)
            .toBe(true)
            .then(stop, () => {});
      },
    });
    hangs = false;
    await works({ run });
    expect(await results(run)).toEqual(["a1b1"]);
    expect(server.requests.map(({ prompt }) => prompt)).toEqual(["a1", "b1", "b1"]);
  },
);

test.skipIf(NO_POSTGRES)("over a server, a try that was replaced changes nothing: the job is the other's", async () => {
  const place = await freshStoreUrl();
  await using other = await shareStore(place);
  let isTaken = false;
  const around = (kept: Store): Store => ({
    ...kept,
    jobs: {
      ...kept.jobs,
      async finish(key, fence, outcome) {
        // As if the lease had lapsed: another try has taken the session and begun the job.
        if (!isTaken) await replaced(key, fence);
        isTaken = true;
        return kept.jobs.finish(key, fence, outcome);
      },
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
