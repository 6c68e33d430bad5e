import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { entryUrl } from "../../../src/entries.ts";
import { tryInChild } from "../../../src/runs/child.ts";
import type { WorkProgress } from "../../../src/runs/index.ts";
import { processParts } from "../../../src/runs/process-parts.ts";
import { tryJob } from "../../../src/runs/try.ts";
import { giveUpJob } from "../../../src/runs/worker.ts";
import { dyingChildEntry } from "../../support/command.ts";
import { runScene } from "../../support/jobs/run.ts";
import { folderWith } from "../../support/tree.ts";

const CELL =
  'const a = await llm_query("a", { tools: [] }); const b = await llm_query("b", { tools: [] }); [a, b, job]';

/** A run with one job in a folder, and its ticket, which has lapsed twice. */
async function scene(script: Parameters<typeof runScene>[1] = {}) {
  const folder = join(folderWith(), "store");
  const { submit, server, results, jobs, works, store } = await runScene(CELL, {
    folder,
    script: ({ prompt }) => ({ text: prompt }),
    ...script,
  });
  const { run } = await submit([{ x: 1 }]);
  const told: WorkProgress[] = [];
  const suspend = new AbortController();
  const ticket = { run: run.id, n: 0, rank: 0, id: "T", lapses: 2, changed: new AbortController().signal };
  const options = {
    ...{ place: folder, suspend: suspend.signal },
    session: { models: null, baseUrl: server.url },
    onProgress: (progress: WorkProgress) => void told.push(progress),
  };
  return { run, server, results, jobs, works, store, told, suspend, ticket, options };
}

const CRASHING = new URL("../../support/jobs/crashing-child-entry.ts", import.meta.url);

test("a job that ends its process costs no more than that try, and the next process goes on with what is recorded", async () => {
  const { run, server, results, told, ticket, options } = await scene();
  const dying = tryInChild({ ...options, entry: dyingChildEntry() }, ticket);
  await expect(dying).rejects.toThrow("its process ended by SIGKILL");
  expect(await tryInChild(options, { ...ticket, id: "U" })).toBe("over");
  expect(await results(run)).toEqual([["a", "b", { x: 1 }]]);
  expect(server.requests.filter(({ prompt }) => prompt === "a")).toHaveLength(1);
  expect(told.at(-1)).toMatchObject({ kind: "left", state: "done" });
});

test("a process that ends at once is told by its exit code and its last words", async () => {
  const { ticket, options } = await scene();
  const crashing = tryInChild({ ...options, entry: CRASHING }, ticket);
  await expect(crashing).rejects.toThrow("its process ended with exit code 134: FATAL ERROR: out of memory");
});

test("a process that cannot open the store gives the ticket back, and no lapse is counted", async () => {
  const { ticket, options } = await scene();
  expect(await tryInChild({ ...options, place: "postgres://somebody@127.0.0.1:1/db" }, ticket)).toEqual({
    againMs: 5000,
    lapses: 2,
  });
});

test("a worker that stops has the job suspended in its process", async () => {
  const { run, server, jobs, suspend, ticket, options } = await scene({
    script: ({ prompt }) => (prompt === "b" ? { text: "", end: "stuck" } : { text: "a" }),
  });
  const trying = tryInChild(options, ticket);
  await expect.poll(() => server.requests.length).toBe(2);
  suspend.abort();
  expect(await trying).toEqual({ dueMs: 0 });
  expect(await jobs(run)).toMatchObject([{ state: "waiting", lapses: 2 }]);
});

test("a worker that is killed has the job given back by its process, so that no lapse counts against it", async () => {
  const { run, server, jobs, store, suspend, ticket, options } = await scene({
    script: ({ prompt }) => (prompt === "b" ? { text: "", end: "stuck" } : { text: "a" }),
  });
  const child = fork(entryUrl("runs/child-entry"), [], { execArgv: [] });
  const { changed, ...sent } = ticket;
  const request = { place: options.place, ticket: sent, session: options.session };
  child.send(JSON.stringify({ id: 1, request }));
  await expect.poll(() => server.requests.length).toBe(2);
  // All that a process hears of the death of its worker.
  child.disconnect();
  await once(child, "exit");
  expect(await jobs(run)).toMatchObject([{ state: "waiting", ticket: "T", lapses: 2 }]);
  const parts = await processParts({ store, session: options.session, suspend: suspend.signal });
  expect(await tryJob(parts, { ...ticket, lapses: 3 })).toEqual({ againMs: 0 });
  const letter = { run: run.id, n: 0, rank: 0, id: "T", lapses: 3, why: "its worker went silent" };
  expect(await giveUpJob(parts, letter)).toEqual({ againMs: 0 });
});

test("a worker tries a job in a process of its own from its second lapse on", async () => {
  const { run, results, works, store, options } = await scene();
  // As two tries left it whose processes ended.
  await store.jobs.begin({ run: run.id, n: 0 }, { ticket: "gone", fence: 0, engine: null, lapses: 1, answers: 0 });
  const told = await works({ run, place: options.place });
  expect(told[0]).toMatchObject({ kind: "said", text: expect.stringContaining("a process of its own") });
  expect(await results(run)).toEqual([["a", "b", { x: 1 }]]);
});
