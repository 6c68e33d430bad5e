import { expect, test } from "vitest";
import { processParts } from "../../../src/runs/process-parts.ts";
import { tryJob } from "../../../src/runs/try.ts";
import type { Store } from "../../../src/store/index.ts";
import { failingStore } from "../../support/failing-store.ts";
import { runScene } from "../../support/jobs/run.ts";

const CELL = 'const a = await llm_query("a", { tools: [] }); [a, await llm_query("b", { tools: [] })]';

/** A job whose first try ends when its first answer is to be recorded. In the second try the nth operation of the store fails, once. */
async function jobOf(nth: number) {
  const refusing = (store: Store): Store => failingStore(store, { nth: 1, lasting: true, failure: "EIO" }).store;
  const { submit, store, server, jobs, results } = await runScene(CELL, { script: ({ prompt }) => ({ text: prompt }) });
  const { run } = await submit([{}]);
  const tried = async (over: Store) => {
    const session = { models: null, baseUrl: server.url };
    const parts = await processParts({ store: over, session, suspend: new AbortController().signal });
    const ticket = { run: run.id, n: 0, rank: 0, id: "t", lapses: 0, changed: new AbortController().signal };
    return tryJob(parts, ticket);
  };
  const dying: Store = {
    ...store,
    async commit(session, step) {
      const isResult = step.records?.some(({ record }) => record === "rlm_tool_result");
      return (isResult ? refusing(store) : store).commit(session, step);
    },
  };
  expect(await tried(dying)).toEqual({ againMs: 5000, lapses: 0 });
  const failing = failingStore(store, { nth, lasting: false, failure: "EIO" });
  const verdict = await tried(failing.store);
  const isTriedAgain = verdict !== "over";
  if (isTriedAgain) expect(await tried(store)).toBe("over");
  const [job] = await jobs(run);
  return { failed: failing.failed(), isTriedAgain, job, results: await results(run), requests: server.requests.length };
}

test("whichever operation of the store fails during a try, a later try finishes the job", async () => {
  const failed: string[] = [];
  for (let nth = 1; ; nth++) {
    const { failed: operation, isTriedAgain, job, results, requests } = await jobOf(nth);
    expect([operation, job?.state, job?.attempts, results]).toEqual([operation, "done", 0, [["a", "b"]]]);
    // One was out when the first try died, another one when the second did.
    expect(requests).toBeLessThanOrEqual(isTriedAgain ? 4 : 3);
    if (operation === null) break;
    failed.push(operation);
  }
  expect(failed).toContain("checkpoint");
  expect(failed).toContain("jobs.reuse");
});
