import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readSpec } from "../../src/runs/spec.ts";
import { readRecord } from "../../src/session/index.ts";
import { findingsIn } from "../../src/store/index.ts";
import { KILLED_WORKER } from "../support/command.ts";
import { REUSE_STEP, TRY_STEPS } from "../support/jobs/kill-step.ts";
import { runScene } from "../support/jobs/run.ts";
import { folderWith } from "../support/tree.ts";

const CELL = `
interface Job { name: string }
const a: string = await llm_query("a", { tools: [] });
const b = (await llm_query("b after " + a, { tools: [] })) as string;
[P.length > 0, (job as Job).name, a!, b]`;

test.each(TRY_STEPS)(
  "a worker that is killed after %s: the next one ends the job, and asks for no recorded answer",
  async (step) => {
    const files = folderWith({ "a.txt": "text" });
    const folder = join(files, "store");
    const { submit, works, jobs, results, server, store, runs } = await runScene(CELL, {
      folder,
      script: ({ prompt }) => ({ text: prompt.toUpperCase() }),
      spec: { context: "each" },
    });
    const context = await runs.keepContext("a.txt", { cwd: files, roots: [files] });
    const { run } = await submit([{ name: "n" }], context);
    const worker = spawn(process.execPath, [...KILLED_WORKER, folder, server.url, run.name, step], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    worker.stderr.on("data", (text) => {
      said += text;
    });
    const [, signal] = await once(worker, "close");
    expect(signal, said).toBe("SIGKILL");
    const before = server.requests.length;
    const answers = async () => {
      const [job] = await jobs(run);
      const rows = (await store.find(job?.session ?? "")) ? await store.journal(job?.session ?? "") : [];
      return rows.map(({ record }) => readRecord(record)).filter((record) => record.record === "rlm_tool_result");
    };
    const recorded = (await answers()).length;

    await works({ run });
    expect(await results(run)).toEqual([[true, "n", "A", "B AFTER A"]]);
    const [job] = await jobs(run);
    expect(job).toMatchObject({ state: "done", attempts: 0, told: { sub_calls: 2 } });
    // What has no recorded answer is sent again, and nothing else.
    expect(server.requests.length - before).toBe(2 - recorded);
    const spent = (await store.jobs.run(run.id))?.spent;
    expect(spent).toEqual(job?.spent);
    const tokens = (await answers()).reduce((sum, { usage }) => sum + usage.input + usage.output, 0);
    expect(spent).toMatchObject({ sub_calls: 2, tokens });
    expect(await findingsIn(store)).toEqual([]);
  },
);

test("a worker that is killed between an answer of an earlier run and its record: the next one takes the same one", async () => {
  const folder = join(folderWith(), "store");
  const { submit, works, jobs, server, store, runs, results } = await runScene('await llm_query("a", { tools: [] })', {
    folder,
    script: ({ index }) => ({ text: `answer ${index}` }),
  });
  const files = { script: "s".repeat(64), table: null };
  const { run } = await submit([{ name: "m" }, { name: "n" }]);
  await store.jobs.open({ ...run, files });
  await works({ run, concurrency: 1 });
  const spec = readSpec({ ...Object(run.spec), retries: 3 });
  const { queue, share, limits } = run;
  const later = { name: "later", queue, share, limits, files, spec };
  const inputs = ["x", "y", "z"].map((id) => ({ id, input: JSON.stringify(id), context: null }));
  const second = await runs.submit(later, inputs);
  const worker = spawn(process.execPath, [...KILLED_WORKER, folder, server.url, "later", REUSE_STEP], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  expect((await once(worker, "close"))[1]).toBe("SIGKILL");
  // The call has its answer, and no record says so yet.
  expect(await store.jobs.reused(second.run.id)).toMatchObject({ answers: 1, from: [run.name] });
  await works({ run: second.run, concurrency: 1 });
  expect((await results(second.run)).toSorted()).toEqual(["answer 0", "answer 1", "answer 2"]);
  expect(await store.jobs.reused(second.run.id)).toMatchObject({ answers: 2 });
  expect((await jobs(second.run)).map(({ told }) => Object(told).reused ?? 0).toSorted()).toEqual([0, 1, 1]);
  expect(server.requests).toHaveLength(3);
  expect(await findingsIn(store)).toEqual([]);
});
