import fs, { copyFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Store } from "../../../src/store/index.ts";
import { openStore } from "../../../src/store/open.ts";
import { runScene } from "../../support/jobs/run.ts";
import { folderWith } from "../../support/tree.ts";

/** The files of a store as a disk has them after a power cut: as they were when the newest flush began that has ended. */
function watchDisk(folder: string) {
  let newest = "";
  let flushes = 0;
  const { fdatasync } = fs;
  const spy = vi.spyOn(fs, "fdatasync").mockImplementation((file, done) => {
    const copy = folderWith();
    for (const name of ["belay.db", "belay.db-wal"]) copyFileSync(join(folder, name), join(copy, name));
    fdatasync(file, (error) => {
      newest = copy;
      flushes += 1;
      done(error);
    });
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  return {
    flushes: () => flushes,
    /** The state of a run's first job and the records of its session. */
    async has(run: string) {
      await using store = await openStore(newest);
      const [job] = await store.jobs.list(run, { from: 0, limit: 1 });
      const records = job && job.state !== "waiting" ? await store.journal(job.session) : [];
      return [job?.state, ...records.map(({ record }) => record.record)];
    },
  };
}

test("a power cut takes no call, no answer and no end of a job that was kept", async () => {
  const folder = join(folderWith(), "store");
  const seen: Promise<unknown>[] = [];
  const look = () => void seen.push(disk.has(run.id));
  const around = (kept: Store): Store => ({
    ...kept,
    async commit(session, step) {
      const more = await kept.commit(session, step);
      if (step.records?.some(({ record }) => record.startsWith("rlm_tool"))) look();
      return more;
    },
  });
  const { submit, works } = await runScene('await llm_query("a", { tools: [] }); await llm_query("b", { tools: [] })', {
    folder,
    around,
  });
  const { run } = await submit([1]);
  const disk = watchDisk(folder);
  await works({ run, on: ({ kind }) => kind === "left" && look() });
  const call = ["rlm_tool_call", "rlm_tool_result"];
  expect(await Promise.all(seen)).toEqual([
    ["running", "rlm_start", "rlm_tool_call"],
    ["running", "rlm_start", ...call],
    ["running", "rlm_start", ...call, "rlm_tool_call"],
    ["running", "rlm_start", ...call, ...call],
    ["done", "rlm_start", ...call, ...call, "rlm_complete"],
  ]);
});

test("a job that makes no call waits for the disk once: when it has ended", async () => {
  const folder = join(folderWith(), "store");
  const { submit, works, jobs } = await runScene("1", { folder });
  // The first one keeps the image of a fresh guest.
  const { run } = await submit([1]);
  await works({ run });
  await submit([1, 2, 3, 4]);
  const disk = watchDisk(folder);
  await works({ run, concurrency: 1 });
  expect((await jobs(run)).map(({ state }) => state)).toEqual(["done", "done", "done", "done"]);
  // Before the first of them, lapses of the run are looked for.
  expect(disk.flushes()).toBe(1 + 3);
});
