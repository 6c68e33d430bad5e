import { expect, test } from "vitest";
import { RlmError } from "../../../runtime/index.ts";
import { openBusyJobs } from "../../../src/runs/process-parts.ts";
import { tryJob } from "../../../src/runs/try.ts";
import { giveUpJob } from "../../../src/runs/worker.ts";
import type { JobRow } from "../../../src/store/index.ts";
import {
  aborted,
  DONE,
  failedWith,
  fault,
  JOB,
  type JobScene,
  jobScene,
  type Knobs,
  SPEC,
  UNFINISHED,
} from "../../support/jobs/scene.ts";

/** The verdict of a try, and what it did. */
async function tried(knobs: Knobs = {}) {
  const scene = jobScene(knobs);
  const verdict = await tryJob(scene.parts, scene.ticket);
  return { verdict, log: scene.log, row: scene.row };
}

/** Has somebody else change the row of the job. */
const becomes =
  (change: Partial<JobRow>) =>
  ({ row }: JobScene) => {
    if (row) row.job = { ...row.job, ...change };
  };

type Cell = NonNullable<Knobs["cell"]>;

/** A cell that works until this has suspended it. */
const suspendedBy =
  (why: (scene: JobScene, park: Parameters<Cell>[2]) => void): Cell =>
  async ({ suspend }, scene, park) => {
    why(scene, park);
    await aborted(suspend);
    return UNFINISHED;
  };

const HELD = ["read", "lease S", "begin T under 1"];

test("a try leases the session, begins the job, runs the cell, finishes the job and releases the session", async () => {
  const { verdict, log, row } = await tried();
  expect(log).toEqual([...HELD, "open", "run", "close", "finish done 7", "left done null", "release"]);
  expect(verdict).toBe("over");
  expect(row?.job).toMatchObject({ state: "done", ticket: "T", fence: 1, engine: "own", told: { ms: 1 } });
});

test("a job that the lease has taken is not begun again, and one that it could not take is left", async () => {
  const [read, lease] = HELD;
  const taken = await tried({ begun: true, job: { fence: 1, state: "waiting" } });
  expect(taken.log.slice(0, 4)).toEqual([read, lease, "open", "run"]);
  const refused = await tried({ begun: false, at: { lease: becomes({ state: "cancelled" }) } });
  expect([refused.verdict, refused.log]).toEqual(["over", [read, lease, "release", "read"]]);
});

test.each<[string, Knobs, unknown]>([
  ["is unknown", { found: null }, "over"],
  ["is done", { job: { state: "done" } }, "over"],
  ["has failed", { job: { state: "failed" } }, "over"],
  ["is cancelled", { job: { state: "cancelled" } }, "over"],
  ["is parked", { job: { state: "parked" } }, "over"],
  ["is parked until later", { job: { state: "parked", run_at: 6000 } }, { dueMs: 5000, lapses: 0 }],
  ["is of a paused run", { run: { state: "paused" } }, "over"],
  ["is not due", { job: { run_at: 6000 } }, { dueMs: 5000, lapses: 0 }],
])("a job that %s is not touched", async (_name, knobs, expected) => {
  const { verdict, log } = await tried(knobs);
  expect(verdict).toEqual(expected);
  expect(log).toEqual(["read"]);
});

test("a job that another build has begun is left to a worker of that one, and a person is told", async () => {
  const { verdict, log } = await tried({ job: { state: "running", engine: "theirs" }, isForeign: true });
  expect(verdict).toEqual({ againMs: 60_000, lapses: 0 });
  expect(log).toEqual(["read", "foreign"]);
});

test("a job that is due by now, or was begun by this build, is tried", async () => {
  expect((await tried({ job: { run_at: 1000 } })).row?.job.state).toBe("done");
  expect((await tried({ job: { state: "parked", run_at: 1000 } })).row?.job.state).toBe("done");
  expect((await tried({ job: { state: "running", engine: "own" } })).row?.job.state).toBe("done");
});

test("a session that another try has open gives the ticket back and counts nothing", async () => {
  const busy = { lapses: 3, at: { lease: () => Promise.reject(fault("session_busy")) } };
  const { verdict, log } = await tried({ ...busy, job: { state: "running" } });
  // The lapses stay: another process that has the session is no fault of the job.
  expect([verdict, log]).toEqual([{ againMs: 700, lapses: 3 }, ["read", "lease S"]]);
});

test("a busy session is tried again soon, then less often, and people are told once of a run what keeps it", () => {
  const told: string[] = [];
  const busy = openBusyJobs((text) => told.push(text));
  const error = new RlmError("session_busy", "session s is held by process 7 on h", { suggestion: "" });
  const waits = (n: number, times: number) => Array.from({ length: times }, () => busy.waitMs({ run: "R", n }, error));
  // A process that was killed is gone by then.
  expect([waits(0, 1), told]).toEqual([[500], []]);
  expect(waits(0, 6)).toEqual([1000, 2000, 4000, 8000, 15_000, 15_000]);
  expect(waits(1, 2)).toEqual([500, 1000]);
  const why = "jobs of this run wait for another process, and continue here once it has ended";
  expect(told).toEqual([`${why}: session s is held by process 7 on h`]);
  busy.free({ run: "R", n: 0 });
  expect(waits(0, 1)).toEqual([500]);
});

test.each(["lease_lost", "store_failed"] as const)(
  "%s at any step gives the ticket back for 5 s, and counts nothing",
  async (code) => {
    for (const at of ["read", "lease", "begin", "open", "finish"] as const) {
      const { verdict, row } = await tried({ at: { [at]: () => Promise.reject(fault(code)) } });
      expect(verdict, at).toEqual({ againMs: 5000, lapses: 0 });
      expect(row?.job, at).toMatchObject({ attempts: 0, told: null });
    }
    const { verdict, log } = await tried({ cell: () => Promise.reject(fault(code)) });
    expect(verdict).toEqual({ againMs: 5000, lapses: 0 });
    expect(log.slice(-2)).toEqual(["close", "release"]);
  },
);

test("a defect rejects the try, so that the dispatcher counts it", async () => {
  await expect(tried({ cell: () => Promise.reject(new TypeError("a defect")) })).rejects.toThrow("a defect");
});

test("a release that fails changes no verdict", async () => {
  expect((await tried({ at: { release: () => Promise.reject(fault("store_failed")) } })).verdict).toBe("over");
});

test("a job that became final before it was begun is left as it is", async () => {
  const { verdict, log } = await tried({ at: { begin: becomes({ state: "cancelled" }) } });
  expect([verdict, log]).toEqual(["over", [...HELD, "release", "read"]]);
});

test("a row that waits with the fence of no lease is damaged: its run is paused, and names the job", async () => {
  const damagedAs = (state: "waiting" | "running") => tried({ at: { lease: becomes({ state, fence: 2 ** 31 }) } });
  const { verdict, log } = await damagedAs("waiting");
  expect(verdict).toBe("over");
  expect(log.find((line) => line.startsWith("change"))).toMatch(/^change pause the row of job ".*" is damaged/);
  // Another try has taken the job.
  const { log: left } = await damagedAs("running");
  expect(left).toEqual([...HELD, "release", "read"]);
});

test.each<[string, Knobs]>([
  ["is met when the job is read", { at: { read: () => Promise.reject(fault("store_corrupt")) } }],
  ["is met when the job is begun", { at: { begin: () => Promise.reject(fault("store_corrupt")) } }],
  ["is met when the job is finished", { at: { finish: () => Promise.reject(fault("store_corrupt")) } }],
  ["kept the end of its exec out", { cell: async () => ({ kind: "unfinished", damage: fault("store_corrupt") }) }],
  ["suspended it", { cell: suspendedBy((_, park) => park("damaged")) }],
])("damage of the store that %s pauses the run by name", async (_name, knobs) => {
  const { verdict, log } = await tried(knobs);
  expect(verdict).toBe("over");
  expect(log.find((line) => line.startsWith("change"))).toMatch(/^change pause store_corrupt: a test says/);
});

test("a job that another try began and gave back since the lease was taken is not damaged", async () => {
  const { verdict, log } = await tried({
    at: {
      begin: ({ row }) => {
        if (row) row.job = { ...row.job, fence: 2 };
      },
    },
  });
  expect([verdict, log]).toEqual(["over", [...HELD, "release", "read", "lease S", "release"]]);
});

test("whose fence is old changes nothing: the other try finishes the job", async () => {
  const { verdict, row, log } = await tried({
    cell: async (_signals, scene) => {
      becomes({ fence: 9, ticket: "U" })(scene);
      return DONE;
    },
  });
  expect(verdict).toBe("over");
  expect(row?.job).toMatchObject({ state: "running", ticket: "U", told: null });
  expect(log).toContain("left null null");
});

test("an error of the cell fails the job at once: running it again would pay again", async () => {
  const { row, log } = await tried({ cell: async () => failedWith("js_error") });
  expect(row?.job).toMatchObject({ state: "failed", told: { error_code: "js_error" } });
  expect(log).toContain("left failed js_error");
});

test.each(["machine_lost", "context_lost"] as const)(
  "%s is tried again after 5, 20 and 80 s, as often as the run says",
  async (code) => {
    const waits: unknown[] = [];
    for (const attempts of [0, 1]) {
      const { verdict, log } = await tried({ job: { attempts }, cell: async () => failedWith(code) });
      expect(log).toContain(`put waiting ${code} ${5000 * 4 ** attempts} counts`);
      waits.push(verdict);
    }
    expect(waits).toEqual([{ dueMs: 5000 }, { dueMs: 20_000 }]);
    const { verdict, row } = await tried({ job: { attempts: 2 }, cell: async () => failedWith(code) });
    expect([verdict, row?.job.state]).toEqual(["over", "failed"]);
    const far = { ...JOB, attempts: 50 };
    const spec = JSON.parse(JSON.stringify({ ...SPEC, retries: 60 }));
    expect((await tried({ job: far, run: { spec }, cell: async () => failedWith(code) })).verdict).toEqual({
      dueMs: 600_000,
    });
  },
);

test("a context that is lost when the session is opened counts as an attempt too", async () => {
  const { log } = await tried({ at: { open: () => Promise.reject(fault("context_lost")) } });
  expect(log).toContain("put waiting context_lost 5000 counts");
});

test("a session that cannot be opened for another reason fails its job by that code", async () => {
  const { row } = await tried({ at: { open: () => Promise.reject(fault("store_corrupt")) } });
  expect(row?.job).toMatchObject({
    state: "failed",
    told: { error_code: "store_corrupt", error: "a test says store_corrupt" },
  });
});

test("a store that refused a record of the exec gives the ticket back, and the row stays as it is", async () => {
  const { verdict, log, row } = await tried({ cell: async () => UNFINISHED });
  expect([verdict, row?.job.state]).toEqual([{ againMs: 5000, lapses: 0 }, "running"]);
  expect(log.some((line) => line.startsWith("put"))).toBe(false);
});

test("a job that is being cancelled is not run: what was interrupted is given up", async () => {
  const { log, row } = await tried({ job: { state: "cancelling" } });
  expect(log).toEqual([
    ...HELD,
    "read",
    "open",
    "discard",
    "close",
    "finish cancelled null",
    "left cancelled cancelled",
    "release",
  ]);
  expect(row?.job.told).toEqual({ tokens: 3 });
  const paused = await tried({ job: { state: "cancelling" }, run: { state: "paused" } });
  expect(paused.row?.job.state).toBe("cancelled");
});

test("a job that is cancelled between the first look and its beginning ends cancelled", async () => {
  const { row, log } = await tried({ job: { state: "running" }, at: { begin: becomes({ state: "cancelling" }) } });
  expect(row?.job.state).toBe("cancelled");
  expect(log).not.toContain("run");
});

test("a ticket that changes is a hint to read the row: the cell is cancelled if the row says so, now or later", async () => {
  const { row, verdict } = await tried({
    cell: async ({ signal, suspend }, { row, changed, pass, log }) => {
      const reads = () => log.filter((line) => line === "read").length;
      changed.abort();
      await expect.poll(reads).toBe(2);
      expect([signal.aborted, suspend.aborted]).toEqual([false, false]);
      if (row) row.job = { ...row.job, state: "cancelling" };
      await expect.poll(() => pass(10_000) ?? signal.aborted).toBe(true);
      return failedWith("cancelled");
    },
  });
  expect([verdict, row?.job.state]).toEqual(["over", "cancelled"]);
});

test("a try whose ticket is another one's by now stops, and changes nothing", async () => {
  const { verdict, log } = await tried({
    cell: suspendedBy((scene) => {
      becomes({ ticket: "U", fence: 7 })(scene);
      scene.changed.abort();
    }),
  });
  expect(verdict).toEqual({ againMs: 5000, lapses: 0 });
  expect(log.at(-2)).toBe("left null null");
});

test("a row that cannot be read when the ticket changes stops nothing", async () => {
  let isOut = false;
  const { row } = await tried({
    at: {
      read: () => {
        if (isOut) throw fault("store_failed");
      },
    },
    cell: async ({ signal, suspend }, { changed, log }) => {
      isOut = true;
      changed.abort();
      await expect.poll(() => log.filter((line) => line === "read").length).toBe(2);
      expect([signal.aborted, suspend.aborted]).toEqual([false, false]);
      return DONE;
    },
  });
  expect(row?.job.state).toBe("done");
});

test.each<[string, Cell]>([
  ["the worker stops", suspendedBy(({ stopped }) => stopped.abort())],
  ["23 hours have passed", suspendedBy(({ pass }) => pass(23 * 3600_000))],
])("when %s the job is suspended and waits again, and its ticket is given back at once", async (_when, cell) => {
  const { verdict, log } = await tried({ cell });
  expect(verdict).toEqual({ dueMs: 0 });
  expect(log).toContain("put waiting null 0");
});

test("a job without money is parked, and its run paused before", async () => {
  const { verdict, log } = await tried({ cell: suspendedBy((_scene, park) => park("budget")) });
  expect(verdict).toBe("over");
  expect(log.slice(-5)).toEqual([
    "close",
    "change pause budget: sub_calls",
    "put parked budget 0",
    "left parked budget",
    "release",
  ]);
});

test("a job whose provider wants a long wait is parked for as long", async () => {
  const { verdict, log } = await tried({ cell: suspendedBy((_scene, park) => park("provider")) });
  expect(verdict).toEqual({ dueMs: 300_000 });
  expect(log).toContain("put parked provider 300000");
});

test("a job that ends although it was to be suspended has ended", async () => {
  const { row } = await tried({
    cell: async (_signals, { stopped }) => {
      stopped.abort();
      return DONE;
    },
  });
  expect(row?.job.state).toBe("done");
});

test("a run whose model this worker does not ask is paused, and says why", async () => {
  const { verdict, log } = await tried({ refusal: "its workers do not ask p/m" });
  expect(verdict).toBe("over");
  expect(log).toEqual([
    "read",
    "change pause its workers do not ask p/m",
    "said run run is paused: its workers do not ask p/m",
  ]);
});

test("a run that this build cannot read is paused, and says why", async () => {
  const { log } = await tried({ run: { spec: { script: 1 } } });
  expect(log[1]).toMatch(/^change pause what the run does cannot be read: script/);
});

test("a run is paused after so many failures as it allows", async () => {
  const spec = JSON.parse(JSON.stringify({ ...SPEC, fail_fast: 3 }));
  const cell = async () => failedWith("js_error");
  expect((await tried({ run: { spec }, cell, failed: 2 })).log.some((line) => line.startsWith("change"))).toBe(false);
  expect((await tried({ run: { spec }, cell, failed: 3 })).log).toContain("change pause 3 of its jobs have failed");
});

test("a ticket that lapsed three times becomes a new one, if the job has recorded answers since the last lapse", async () => {
  const job = { state: "running", answers: 4 } as const;
  const fresh = await tried({ job, lapses: 3, answers: 5 });
  expect(fresh.verdict).toEqual({ againMs: 0 });
  // Nothing is written: if this process dies before the new ticket is there, the next try sees the answers too.
  expect(fresh.log).toEqual(["read", "lease S", "release"]);
  expect((await tried({ job, lapses: 3, answers: 4 })).row?.job.state).toBe("done");
  expect((await tried({ job, lapses: 2, answers: 9 })).row?.job.state).toBe("done");
});

test("a ticket that lapsed three times becomes a new one, if its last try gave the job back and only its worker died", async () => {
  const given = { state: "waiting", ticket: "T", lapses: 2 } as const;
  expect((await tried({ job: given, lapses: 3 })).verdict).toEqual({ againMs: 0 });
  const parked = { ...given, state: "parked", run_at: 0 } as const;
  expect((await tried({ job: parked, lapses: 3 })).verdict).toEqual({ againMs: 0 });
  expect((await tried({ job: { ...given, state: "running" }, lapses: 3 })).row?.job.state).toBe("done");
  // Another ticket gave it back, or a try before the last one.
  expect((await tried({ job: { ...given, ticket: "U" }, lapses: 3 })).row?.job.state).toBe("done");
  expect((await tried({ job: given, lapses: 4 })).row?.job.state).toBe("done");
});

const LETTER = { run: "R", n: 0, rank: 0, id: "T", lapses: 6, why: "out of memory" };

test("a dead letter fails its job under the lease of its session, unless the job is over", async () => {
  const { parts, row, log } = jobScene({ job: { state: "running", lapses: 5 } });
  expect(await giveUpJob(parts, LETTER)).toBe("over");
  expect(row?.job).toMatchObject({ state: "failed", told: { error_code: "job_crashed", session: "S" } });
  expect(log).toEqual([
    "read",
    "lease S",
    "begin T under 1",
    "finish failed null",
    "left failed job_crashed",
    "release",
  ]);
  const over = jobScene({ job: { state: "done" } });
  expect(await giveUpJob(over.parts, LETTER)).toBe("over");
  expect(over.log).toEqual(["read"]);
  const cancelling = jobScene({ job: { state: "cancelling" } });
  await giveUpJob(cancelling.parts, LETTER);
  expect(cancelling.row?.job.state).toBe("cancelled");
});

test("a dead letter whose last try recorded an answer, or gave the job back, becomes a new ticket", async () => {
  const states = [
    { job: { state: "running", lapses: 5, answers: 4 }, answers: 5 },
    { job: { state: "waiting", lapses: 5, ticket: "T" } },
  ] as const;
  for (const knobs of states) {
    const { parts, row, log } = jobScene(knobs);
    expect(await giveUpJob(parts, LETTER)).toEqual({ againMs: 0 });
    expect(log).toEqual(["read", "lease S", "release"]);
    expect(row?.job.state).toBe(knobs.job.state);
  }
});
