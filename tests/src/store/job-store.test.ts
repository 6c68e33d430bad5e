import { describe, expect } from "vitest";
import type { Amount, Hold, NewRun, Outcome, Try } from "../../../src/store/job-store.ts";
import { checkpointOf, contextOf, pagesOf, range, recordOf, sessionOf } from "./sample.ts";
import { STORES, testOf } from "./stores.ts";

const UNLIMITED = { nanodollars: null, tokens: null, sub_calls: null };
const NONE: Amount = { nanodollars: 0, tokens: 0, sub_calls: 0 };
const tokens = (count: number): Amount => ({ nanodollars: 0, tokens: count, sub_calls: 0 });

const RUN = { queue: "default", share: 1, spec: { script: "1" }, hash: "a".repeat(64), limits: UNLIMITED };
const runOf = (id: string, more: Partial<NewRun> = {}): NewRun => ({ id, name: `run ${id}`, ...RUN, ...more });
const jobsOf = (run: string, count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => {
    const id = `job-${from + at}`;
    return { id, session: `${run}-${from + at}`, input: JSON.stringify({ id, n: from + at }), context: null };
  });
const tryOf = (ticket: string, more: Partial<Try> = {}): Try => ({
  ...{ ticket, fence: 0, engine: null, lapses: 0, answers: 0 },
  ...more,
});
const DONE: Outcome = { state: "done", result: '{"a":1}', told: { ms: 4 } };
const PAGE = { queue: "default", after: null, limit: 100, overdueMs: 0 };

describe.each(STORES)("jobs of a store $kind", (kind) => {
  const stored = testOf(kind);

  stored("a run is made once by its name, and another one of the name is refused", async ({ jobs }) => {
    expect(await jobs.open(runOf("R1"))).toMatchObject({ made: true, run: { id: "R1", state: "open", spent: NONE } });
    expect(await jobs.open(runOf("R2", { name: "run R1" }))).toMatchObject({ made: false, run: { id: "R1" } });
    const other = jobs.open(runOf("R3", { name: "run R1", hash: "b".repeat(64) }));
    await expect(other).rejects.toMatchObject({ code: "run_differs", message: expect.stringContaining("run R1") });
    expect((await jobs.run("run R1"))?.id).toBe("R1");
    expect((await jobs.run("R1"))?.spec).toEqual({ script: "1" });
    const changed = { name: "run R1", spec: { script: "1", retries: 0 }, queue: "other", share: 4 };
    expect((await jobs.open(runOf("R2", changed))).run).toMatchObject({ id: "R1", spec: changed.spec, share: 1 });
    expect(await jobs.run("R1")).toMatchObject({ spec: changed.spec, queue: "default", share: 1 });
    expect(await jobs.run("R2")).toBeNull();
    await jobs.open(runOf("R4"));
    expect((await jobs.runs({ after: null, limit: 10 })).map(({ id }) => id)).toEqual(["R4", "R1"]);
    expect((await jobs.runs({ after: "R4", limit: 10 })).map(({ id }) => id)).toEqual(["R1"]);
  });

  stored(
    "a run takes each answer of an earlier run of its files once, also if two calls want it at once",
    async (store) => {
      const { jobs } = store;
      const files = { script: "s".repeat(64), table: "t".repeat(64) };
      await jobs.open(runOf("R1", { files }));
      await jobs.add("R1", jobsOf("R1", 2));
      await store.create(sessionOf("S1"));
      const asked = "a".repeat(64);
      const answer = (n: number, k: number) => ({
        run: "R1",
        n,
        k,
        asked,
        value: `${n}.${k}`,
        model: "p/m",
        mended: n === 1 ? ["punctuation"] : undefined,
        tokens: 7,
        nanodollars: 5,
        at: 1,
      });
      await store.commit("S1", { answers: [answer(0, 0), answer(0, 1), answer(1, 0)] });
      const search = (run: string, n: number, k: number, ownOnly = false) => jobs.reuse({ run, n, k, asked, ownOnly });
      expect(await search("R1", 0, 1)).toMatchObject({ value: "0.1", model: "p/m", mended: undefined, from: null });
      expect(await search("R1", 1, 0)).toMatchObject({ mended: ["punctuation"] });

      await jobs.open(runOf("R2", { files: { ...files, script: null } }));
      await jobs.add("R2", [...jobsOf("R2", 1, 1), ...jobsOf("R2", 3, 7)]);
      expect(await search("R2", 0, 0, true)).toBeNull();
      // Its number is 0 here, and it is known by its id.
      expect(await search("R2", 0, 0)).toMatchObject({ value: "1.0", from: "run R1", tokens: 7, nanodollars: 5 });
      const both = await Promise.all([search("R2", 1, 0), search("R2", 2, 0)]);
      expect(both.map((one) => one?.value).toSorted()).toEqual(["0.0", "0.1"]);
      expect(await search("R2", 3, 0)).toBeNull();
      expect(await search("R2", 0, 0, true)).toMatchObject({ value: "1.0", from: "run R1", mended: ["punctuation"] });
      expect(await jobs.reused("R2")).toEqual({ answers: 3, tokens: 21, nanodollars: 15, from: ["run R1"] });
      expect(await jobs.reused("R1")).toEqual({ answers: 0, tokens: 0, nanodollars: 0, from: [] });
      expect(await jobs.answersTo(asked, ["R1"])).toEqual(["0.0", "0.1", "1.0"]);
      expect((await jobs.sameFiles(files, "R2")).map(({ id }) => id)).toEqual(["R1"]);

      // A copy is as good as its origin, and does not count twice.
      await jobs.open(runOf("R3", { files: { script: files.script, table: files.table } }));
      await jobs.add("R3", jobsOf("R3", 4));
      const taken = [
        await search("R3", 2, 0),
        await search("R3", 0, 0),
        await search("R3", 3, 0),
        await search("R3", 1, 0),
      ];
      expect(taken.map((one) => one?.value ?? null).toSorted()).toEqual(["0.0", "0.1", "1.0", null]);

      // Whoever is tried anew gives back what was taken; a fresh run takes nothing.
      await jobs.replace("R2", jobsOf("R2", 1, 1));
      expect(await jobs.reused("R2")).toMatchObject({ answers: 2 });
      expect((await jobs.known("R2", jobsOf("R2", 2, 7))).map((one) => one?.reused)).toEqual([1, 1]);
      await jobs.open(runOf("R2", { files, fresh: true }));
      expect(await search("R2", 0, 0)).toBeNull();
      await jobs.open(runOf("R2", { files }));
      expect(await search("R2", 0, 0)).toBeNull();
      expect(await search("R4", 0, 0)).toBeNull();

      await jobs.remove("R1");
      expect(await search("R3", 2, 0)).toMatchObject({ from: "R1" });
      expect(taken.map((one) => one?.mended).filter((one) => one !== undefined)).toEqual([["punctuation"]]);
      expect(await jobs.answersTo(asked, ["R1"])).toEqual([]);
    },
  );

  stored("jobs are added once by their ids, numbered without gaps, and listed in order", async ({ jobs }) => {
    await jobs.open(runOf("R1"));
    const added = (n: number, isNew: boolean) => ({ n, isNew });
    expect(await jobs.add("R1", jobsOf("R1", 3))).toEqual([0, 1, 2].map((n) => added(n, true)));
    expect(await jobs.add("R1", jobsOf("R1", 3, 1))).toEqual([added(1, false), added(2, false), added(3, true)]);
    await expect(jobs.add("none", jobsOf("none", 1))).rejects.toMatchObject({ code: "run_not_found" });
    const all = await jobs.list("R1", { from: 0, limit: 10 });
    expect(all.map(({ n, id }) => [n, id])).toEqual([0, 1, 2, 3].map((n) => [n, `job-${n}`]));
    expect(all[2]).toMatchObject({ state: "waiting", attempts: 0, told: null });
    expect(await jobs.input({ run: "R1", n: 2 })).toBe('{"id":"job-2","n":2}');
    expect((await jobs.list("R1", { from: 2, limit: 1 })).map(({ n }) => n)).toEqual([2]);
    expect((await jobs.list("R1", { from: 1, limit: 9, among: [3, 0, 2, 7] })).map(({ n }) => n)).toEqual([2, 3]);
    expect(await jobs.find("R1", "job-3")).toMatchObject({ n: 3 });
    expect(await jobs.find("R1", "job-4")).toBeNull();
    expect(await jobs.read({ run: "R1", n: 9 })).toBeNull();
    expect(await jobs.counts("R1")).toMatchObject({ waiting: 4, done: 0, workers: 0 });
  });

  stored("a context of the same text is no change, whatever its key is", async ({ jobs, ...store }) => {
    const [here, moved] = [contextOf("text"), { ...contextOf("text"), key: "a".repeat(64) }];
    for (const context of [here, moved, contextOf("other")]) await store.putContext(context);
    await jobs.open(runOf("R1"));
    const jobOver = ({ key }: { readonly key: string }) => ({ id: "job", input: "1", context: key });
    await jobs.add("R1", [{ ...jobOver(here), session: "S" }]);
    const known = await Promise.all([here, moved, contextOf("other")].map((one) => jobs.known("R1", [jobOver(one)])));
    expect(known.map(([one]) => one?.isChanged)).toEqual([false, false, true]);
  });

  stored(
    "a changed input or context is known by its id, and replaced unless somebody tries the job",
    async ({ jobs }) => {
      await jobs.open(runOf("R1"));
      await jobs.add("R1", jobsOf("R1", 3));
      const asked = [
        { id: "job-2", input: '{"n":2.0,"id":"job-2"}', context: null },
        { id: "job-0", input: '"other"', context: null },
        { id: "none", input: "1", context: null },
        { id: "job-1", input: '{"id":"job-1","n":1}', context: "c" },
      ];
      const known = (n: number, isChanged: boolean, state = "waiting") => ({ n, state, isChanged, reused: 0 });
      expect(await jobs.known("R1", asked)).toEqual([known(2, false), known(0, true), null, known(1, true)]);
      await jobs.begin({ run: "R1", n: 0 }, tryOf("t"));
      await jobs.begin({ run: "R1", n: 1 }, tryOf("t"));
      await jobs.finish({ run: "R1", n: 1 }, 0, DONE);
      const anew = asked.map((job) => ({ ...job, session: `${job.id} again` }));
      expect(await jobs.replace("R1", anew)).toBe(2);
      expect(await jobs.known("R1", asked)).toEqual([
        known(2, false),
        known(0, true, "running"),
        null,
        known(1, false),
      ]);
      const [running, replaced] = await jobs.list("R1", { from: 0, limit: 2 });
      expect(running).toMatchObject({ session: "R1-0", state: "running", ticket: "t" });
      expect(replaced).toMatchObject({
        session: "job-1 again",
        context: "c",
        begun_at: null,
        ended_at: null,
        told: null,
      });
      expect(await jobs.result({ run: "R1", n: 1 })).toBeNull();
    },
  );

  stored("a try begins, gives back and finishes a job; with an older fence it changes nothing", async ({ jobs }) => {
    await jobs.open(runOf("R1"));
    await jobs.add("R1", jobsOf("R1", 1));
    const key = { run: "R1", n: 0 };
    expect(await jobs.begin(key, tryOf("t1", { fence: 3, engine: "e1" }))).toBe(true);
    expect(await jobs.begin(key, tryOf("t0", { fence: 2 }))).toBe(false);
    expect(await jobs.put(key, 2, { state: "waiting", why: null, afterMs: 0, counts: true })).toBe(false);
    expect(await jobs.finish(key, 2, DONE)).toBe(false);
    expect((await jobs.read(key))?.job).toMatchObject({ state: "running", ticket: "t1", fence: 3, attempts: 0 });
    const back = { state: "waiting", why: "machine_lost", afterMs: 60_000, counts: true } as const;
    const told = { refusal: { error_code: "rate_limited", error: "429 \u00e9", suggestion: "", at: 1 } };
    expect(await jobs.put(key, 3, { ...back, told })).toBe(true);
    const waits = { state: "waiting", why: "machine_lost", attempts: 1, told };
    expect((await jobs.read(key))?.job).toMatchObject(waits);
    // What it told stays until it tells something else.
    expect(await jobs.begin(key, tryOf("t1", { fence: 3 }))).toBe(true);
    expect(await jobs.put(key, 3, { ...back, counts: false })).toBe(true);
    expect((await jobs.read(key))?.job).toMatchObject(waits);
    const [due] = await jobs.due(PAGE);
    expect(due?.afterMs).toBeGreaterThan(50_000);
    expect(await jobs.due({ ...PAGE, overdueMs: 1 })).toEqual([]);
    expect(await jobs.begin(key, tryOf("t2", { fence: 4 }))).toBe(true);
    expect(await jobs.finish(key, 3, DONE)).toBe(false);
    expect(await jobs.finish(key, 4, DONE)).toBe(true);
    expect(await jobs.finish(key, 4, { ...DONE, result: "2" })).toBe(false);
    expect(await jobs.begin(key, tryOf("t3", { fence: 5 }))).toBe(false);
    expect((await jobs.read(key))?.job).toMatchObject({ state: "done", engine: "e1", told: { ms: 4 }, run_at: null });
    expect(await jobs.result(key)).toBe('{"a":1}');
    expect(await jobs.due(PAGE)).toEqual([]);
  });

  stored("a session that is made for a try takes its job with it, or leaves that to the caller", async (store) => {
    const { jobs } = store;
    await jobs.open(runOf("R1"));
    await jobs.add("R1", jobsOf("R1", 2));
    await jobs.change("R1", { to: "cancel", ids: ["job-1"] });
    for (const [n, state] of [
      [0, "running"],
      [1, "cancelled"],
    ] as const) {
      const key = { run: "R1", n };
      const { fence, ...taking } = tryOf("t", { engine: "e", lapses: 2 });
      const lease = await store.create(sessionOf(`R1-${n}`, { origin: "batch", begins: { ...key, ...taking } }));
      const isBegun = lease.begun ?? (await jobs.begin(key, { ...taking, fence: lease.fence }));
      expect(isBegun).toBe(state === "running");
      const begun = { ticket: "t", engine: "e", lapses: 2, fence: lease.fence };
      expect((await jobs.read(key))?.job).toMatchObject({ state, ...(isBegun ? begun : { ticket: null }) });
      await store.release(`R1-${n}`);
    }
  });

  stored("a job that is done can lose its images; its journal goes by the run's keep_ms", async (store) => {
    const { jobs } = store;
    const keep_ms = 3_600_000;
    await jobs.open(runOf("R1", { spec: { keep_ms } }));
    await jobs.add("R1", jobsOf("R1", 2));
    const fences: number[] = [];
    for (const n of [0, 1]) {
      const id = `R1-${n}`;
      const lease = await store.create(sessionOf(id, { origin: "batch" }));
      fences.push(lease.fence);
      const pages = pagesOf(range(0, 20), n);
      const checkpoint = checkpointOf(`C${n}`, { kind: "end", extras: { kind: "end" }, pages });
      await store.commit(id, { facts: { status: "idle" }, checkpoint, records: [recordOf("E1", 10)] });
      await jobs.begin({ run: "R1", n }, tryOf(`t${n}`, { fence: lease.fence }));
    }
    const before = await store.find("R1-0");
    expect(before?.head).toBe("C0");
    expect(await jobs.finish({ run: "R1", n: 0 }, fences[0] ?? 0, { ...DONE, dropsImages: true })).toBe(true);
    expect(await jobs.finish({ run: "R1", n: 1 }, fences[1] ?? 0, { ...DONE, state: "failed" })).toBe(true);
    const after = await store.find("R1-0");
    expect(after?.head).toBeNull();
    expect(after?.bytes).toBeLessThan((before?.bytes ?? 0) / 4);
    expect((await store.find("R1-1"))?.head).toBe("C1");
    expect(await store.journal("R1-0")).toHaveLength(1);
    for (const id of ["R1-0", "R1-1"]) await store.release(id);
    const ended = (await jobs.read({ run: "R1", n: 0 }))?.job.ended_at ?? 0;
    const rule = { anonymousMs: 0, namedMs: null, pi: false, dryRun: false };
    await store.gc({ ...rule, now: ended + keep_ms - 1000 });
    expect(await store.find("R1-0")).not.toBeNull();
    await store.gc({ ...rule, now: ended + keep_ms + 1000 });
    expect(await store.find("R1-0")).toBeNull();
    expect(await store.find("R1-1")).not.toBeNull();
    expect(await jobs.result({ run: "R1", n: 0 })).toBe('{"a":1}');
  });

  stored("runs that are open together advance in proportion to their shares", async ({ jobs }) => {
    await jobs.open(runOf("R1"));
    await jobs.add("R1", jobsOf("R1", 40));
    await jobs.begin({ run: "R1", n: 8 }, tryOf("t1"));
    await jobs.open(runOf("R2", { share: 4 }));
    await jobs.add("R2", jobsOf("R2", 40));
    const due = await jobs.due({ ...PAGE, limit: 45 });
    const ranks = due.map(({ rank }) => rank);
    expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
    const behind = due.filter(({ run, n }) => run === "R2" || n > 8).slice(0, 25);
    expect(behind.filter(({ run }) => run === "R2")).toHaveLength(20);
    const rest = await jobs.due({ ...PAGE, after: due.at(-1) ?? null });
    expect(new Set([...due, ...rest].map(({ run, n }) => `${run} ${n}`)).size).toBe(80);
  });

  stored(
    "a job that is parked until an instant is due then, in the order of ranks, and can be begun",
    async ({ jobs }) => {
      await jobs.open(runOf("R1"));
      await jobs.add("R1", jobsOf("R1", 4));
      for (const n of [0, 2]) {
        const key = { run: "R1", n };
        await jobs.begin(key, tryOf(`t${n}`));
        const [why, afterMs] = n === 0 ? (["provider", 60_000] as const) : (["budget", 0] as const);
        await jobs.put(key, 0, { state: "parked", why, afterMs, counts: false });
      }
      const due = await jobs.due(PAGE);
      expect(due.map(({ n }) => n)).toEqual([0, 1, 3]);
      expect(due[0]?.afterMs).toBeGreaterThan(50_000);
      expect((await jobs.due({ ...PAGE, after: due[0] ?? null })).map(({ n }) => n)).toEqual([1, 3]);
      expect(await jobs.due({ ...PAGE, overdueMs: 1000 })).toEqual([]);
      expect(await jobs.counts("R1")).toMatchObject({ parked: 2, waiting: 2 });
      expect(await jobs.begin({ run: "R1", n: 2 }, tryOf("t4"))).toBe(false);
      expect(await jobs.begin({ run: "R1", n: 0 }, tryOf("t5"))).toBe(true);
      expect((await jobs.read({ run: "R1", n: 0 }))?.job).toMatchObject({ state: "running", why: null, run_at: null });
    },
  );

  stored("a job that waits for money which others hold is due at its instant, and not before", async ({ jobs }) => {
    await jobs.open(runOf("R1"));
    await jobs.add("R1", jobsOf("R1", 2));
    for (const [n, afterMs] of [60_000, 1].entries()) {
      await jobs.begin({ run: "R1", n }, tryOf(`t${n}`));
      await jobs.put({ run: "R1", n }, 0, { state: "parked", why: "held", afterMs, counts: false });
    }
    await expect.poll(() => jobs.due(PAGE)).toMatchObject([{ n: 1, afterMs: 0 }]);
  });

  stored("a job that waits for its time is due at once when somebody resumes its run", async ({ jobs }) => {
    await jobs.open(runOf("R1"));
    await jobs.add("R1", jobsOf("R1", 3));
    const waits = [
      { state: "parked", why: "provider", afterMs: 300_000, counts: false },
      { state: "waiting", why: "machine_lost", afterMs: 600_000, counts: true },
    ] as const;
    for (const [n, back] of waits.entries()) {
      await jobs.begin({ run: "R1", n }, tryOf(`t${n}`));
      await jobs.put({ run: "R1", n }, 0, back);
    }
    const times = async () => (await jobs.due(PAGE)).map(({ afterMs }) => afterMs > 0);
    expect(await times()).toEqual([true, true, false]);
    await jobs.change("R1", { to: "resume" });
    expect(await times()).toEqual([false, false, false]);
    expect((await jobs.read({ run: "R1", n: 1 }))?.job).toMatchObject({ state: "waiting", why: null, attempts: 1 });
  });

  stored("cancel, pause, resume and retry change what waits, and name what is being tried", async ({ jobs }) => {
    await jobs.open(runOf("R1"));
    await jobs.add("R1", jobsOf("R1", 4));
    await jobs.begin({ run: "R1", n: 0 }, tryOf("t0"));
    await jobs.begin({ run: "R1", n: 1 }, tryOf("t1"));
    await jobs.put({ run: "R1", n: 1 }, 0, { state: "parked", why: "budget", afterMs: 0, counts: false });
    await jobs.change("R1", { to: "pause", why: "budget" });
    expect(await jobs.run("R1")).toMatchObject({ state: "paused", why: "budget" });
    expect(await jobs.due(PAGE)).toEqual([]);
    await jobs.change("R1", { to: "resume" });
    expect((await jobs.counts("R1")).waiting).toBe(3);
    const tried = await jobs.change("R1", { to: "cancel", ids: ["job-0", "job-3"] });
    expect(tried).toEqual([{ run: "R1", n: 0, rank: expect.any(Number), ticket: "t0" }]);
    expect(await jobs.counts("R1")).toMatchObject({ waiting: 2, cancelling: 1, cancelled: 1 });
    expect(await jobs.put({ run: "R1", n: 0 }, 0, { state: "waiting", why: null, afterMs: 0, counts: false })).toBe(
      true,
    );
    expect((await jobs.read({ run: "R1", n: 0 }))?.job.state).toBe("cancelling");
    await jobs.finish({ run: "R1", n: 0 }, 0, { state: "cancelled", result: null, told: null });
    const before = (await jobs.read({ run: "R1", n: 3 }))?.job.session;
    await jobs.change("R1", { to: "retry", ids: null, states: ["cancelled"], fresh: false });
    expect(await jobs.counts("R1")).toMatchObject({ waiting: 4, cancelled: 0 });
    const after = (await jobs.read({ run: "R1", n: 3 }))?.job;
    expect(after).toMatchObject({ attempts: 0, ended_at: null, begun_at: null });
    expect(after?.session).not.toBe(before);
    await expect(jobs.change("none", { to: "resume" })).rejects.toMatchObject({ code: "run_not_found" });
  });

  stored(
    "64 at once want 7 of 100: exactly 14 get it, and the others wait until something is given back",
    async ({ jobs }) => {
      await jobs.open(runOf("R1", { limits: { ...UNLIMITED, tokens: 100 } }));
      await jobs.add("R1", jobsOf("R1", 64));
      const holds = Array.from({ length: 64 }, (_, n): Hold => {
        return { run: "R1", n, call: "c", attempt: 1, fence: 0, amount: tokens(7) };
      });
      const answers = await Promise.all(holds.map((hold) => jobs.reserve(hold)));
      expect(answers.filter((answer) => answer === "held")).toHaveLength(14);
      expect(answers.filter((answer) => answer === "wait")).toHaveLength(50);
      // On a server they come in any order.
      const [first, last] = [answers.indexOf("held"), answers.lastIndexOf("wait")];
      await jobs.give({ run: "R1", n: first, call: "c", attempt: 1, fence: 0 }, tokens(2));
      expect((await jobs.run("R1"))?.held).toEqual(tokens(93));
      expect(await jobs.reserve({ ...hold(holds, last), attempt: 2 })).toBe("held");
      expect(await jobs.reserve({ ...hold(holds, last), attempt: 3, amount: tokens(101) })).toBe("tokens");
    },
  );

  stored("an answer's record settles its call; what a try that vanished held counts in full", async (store) => {
    const { jobs } = store;
    await jobs.open(runOf("R1", { limits: { ...UNLIMITED, tokens: 100 } }));
    await jobs.add("R1", jobsOf("R1", 2));
    const key = { run: "R1", n: 0 };
    await store.create(sessionOf("R1-0", { origin: "batch" }));
    await jobs.begin(key, tryOf("t1", { fence: 1 }));
    for (const call of ["a", "b"]) await jobs.reserve({ ...key, call, attempt: 1, fence: 1, amount: tokens(40) });
    await store.commit("R1-0", { records: [recordOf("E1", 2)], settle: [{ ...key, call: "a", spent: tokens(30) }] });
    expect(await jobs.run("R1")).toMatchObject({ spent: tokens(30), held: tokens(40), doubtful: NONE });
    await jobs.begin(key, tryOf("t2", { fence: 2 }));
    expect(await jobs.run("R1")).toMatchObject({ spent: tokens(30), held: NONE, doubtful: tokens(40) });
    expect(await jobs.reserve({ ...key, call: "b", attempt: 1, fence: 2, amount: tokens(31) })).toBe("tokens");
    expect(await jobs.reserve({ ...key, call: "b", attempt: 1, fence: 2, amount: tokens(30) })).toBe("held");
    await store.commit("R1-0", { records: [recordOf("E1", 2)], settle: [{ ...key, call: "b", spent: tokens(10) }] });
    expect(await jobs.run("R1")).toMatchObject({ spent: tokens(40), held: NONE, doubtful: tokens(40) });
    expect((await jobs.read(key))?.job.spent).toEqual(tokens(40));
    await jobs.limit("R1", UNLIMITED);
    expect(await jobs.reserve({ ...key, n: 1, call: "c", attempt: 1, fence: 0, amount: tokens(1e6) })).toBe("held");
  });

  stored("holds of many calls at once are given back and settled while others are made", async (store) => {
    const { jobs } = store;
    await jobs.open(runOf("R1", { limits: { ...UNLIMITED, tokens: 1_000_000 } }));
    await jobs.add("R1", jobsOf("R1", 4));
    const sessions = [0, 1, 2, 3].map((n) => `R1-${n}`);
    const leases = await Promise.all(sessions.map((id) => store.create(sessionOf(id, { origin: "batch" }))));
    await Promise.all(leases.map(({ fence }, n) => jobs.begin({ run: "R1", n }, tryOf(`t${n}`, { fence }))));
    const one = async (n: number, index: number) => {
      const key = { run: "R1", n, call: `c${index}` };
      const fence = leases[n]?.fence ?? 0;
      expect(await jobs.reserve({ ...key, attempt: 1, fence, amount: tokens(100) })).toBe("held");
      const given = jobs.give({ ...key, attempt: 1, fence }, tokens(40));
      await store.commit(`R1-${n}`, { records: [recordOf("E1", index)], settle: [{ ...key, spent: tokens(40) }] });
      await given;
    };
    await Promise.all([0, 1, 2, 3].flatMap((n) => Array.from({ length: 15 }, (_, index) => one(n, index))));
    expect(await jobs.run("R1")).toMatchObject({ spent: tokens(60 * 40), held: NONE, doubtful: NONE });
  });

  stored("a rate hands out instants that lie apart, and none while it is hushed", async ({ jobs }) => {
    const rate = { key: "local", perMinute: 60 };
    const waits: number[] = [];
    for (let n = 0; n < 10; n++) waits.push(await jobs.slot(rate, 1));
    const apart = waits.slice(1).map((wait, at) => wait - (waits[at] ?? 0));
    // A slot is 1,111 ms; what the calls themselves took is less than one.
    for (const gap of apart) expect(gap).toBeGreaterThan(0);
    expect(waits.at(-1)).toBeGreaterThan(8000);
    await jobs.hush({ key: "other", perMinute: 60 }, 100_000);
    expect(await jobs.slot({ key: "other", perMinute: 60 }, 1)).toBeGreaterThan(90_000);
    await jobs.hush({ key: "far", perMinute: 1 }, 200_000);
    const far = await jobs.slot({ key: "far", perMinute: 1 }, 1000);
    expect(await jobs.slot({ key: "far", perMinute: 1 }, 1)).toBeLessThanOrEqual(far);
  });

  stored("a running job whose session nobody holds is due, and its lapse is counted", async (store) => {
    const { jobs } = store;
    await jobs.open(runOf("R1"));
    await jobs.add("R1", jobsOf("R1", 1));
    const { fence } = await store.create(sessionOf("R1-0", { origin: "batch" }));
    await jobs.begin({ run: "R1", n: 0 }, tryOf("t1", { fence }));
    expect(await jobs.due(PAGE)).toEqual([]);
    expect((await jobs.counts("R1")).workers).toBe(1);
    expect(await jobs.lapse("R1")).toBe(0);
    await expect(jobs.remove("R1")).rejects.toMatchObject({ code: "session_busy" });
    await store.release("R1-0");
    expect(await jobs.due(PAGE)).toHaveLength(1);
    expect(await jobs.lapse("R1")).toBe(1);
    expect((await jobs.read({ run: "R1", n: 0 }))?.job).toMatchObject({ state: "waiting", lapses: 1 });
    await jobs.remove("R1");
    expect(await jobs.run("R1")).toBeNull();
    expect(await store.find("R1-0")).toBeNull();
  });
});

function hold(holds: readonly Hold[], n: number): Hold {
  const found = holds[n];
  if (!found) throw new Error(`no hold ${n}`);
  return found;
}
