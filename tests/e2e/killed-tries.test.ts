import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readRecord } from "../../src/session/index.ts";
import { findingsIn } from "../../src/store/verify-store.ts";
import { KILLED_WORKER } from "../support/command.ts";
import { TRY_STEPS } from "../support/jobs/kill-step.ts";
import { runScene } from "../support/jobs/run.ts";
import { folderWith } from "../support/tree.ts";

const CELL = `
const a = await llm_query("a", { tools: [] });
const b = await llm_query("b after " + a, { tools: [] });
[P.length > 0, job.name, a, b]`;

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
