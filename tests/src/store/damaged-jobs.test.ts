import { expect, test } from "vitest";
import { openStore } from "../../../src/store/open.ts";
import { findingsIn } from "../../../src/store/whole-reads.ts";
import { EDITED } from "./edited.ts";

const LIMITS = { nanodollars: null, tokens: null, sub_calls: null };
const RUN = { id: "R", name: "r", queue: "q", share: 1, spec: null, hash: "", limits: LIMITS };

test.for(EDITED)("$kind: a job or a run whose row cannot be read is not left out", async (of, { skip }) => {
  skip(of.skipped !== null, of.skipped ?? "");
  const place = await of.place();
  await using store = await openStore(place);
  await store.jobs.open(RUN);
  await store.jobs.add("R", [{ id: "a", session: "S", input: "1", context: null }]);
  expect(await findingsIn(store)).toEqual([]);

  const refused = { code: "store_corrupt", message: expect.stringContaining("state is wating") };
  await of.change(place, "UPDATE STORE.jobs SET state = 'wating'");
  await expect(store.jobs.counts("R")).rejects.toMatchObject(refused);
  await expect(store.jobs.list("R", { from: 0, limit: 9 })).rejects.toMatchObject(refused);
  expect(await findingsIn(store)).toEqual([expect.stringMatching(/^job a of run R: .*a job's state is wating/)]);

  await of.change(place, "UPDATE STORE.jobs SET state = 'waiting', result = NULL, told = NULL");
  await of.change(place, "UPDATE STORE.runs SET state = 'opeo'");
  expect(await findingsIn(store)).toEqual([expect.stringMatching(/^run r: .*a run's state is opeo/)]);
});

test.for(EDITED)(
  "$kind: a run that holds amounts for no request is damaged: nobody waits for them",
  async (of, { skip }) => {
    skip(of.skipped !== null, of.skipped ?? "");
    const place = await of.place();
    await using store = await openStore(place);
    await store.jobs.open({ ...RUN, limits: { ...LIMITS, sub_calls: 3 } });
    await store.jobs.add("R", [{ id: "a", session: "S", input: "1", context: null }]);
    const hold = { run: "R", n: 0, fence: 0, attempt: 0, amount: { nanodollars: 0, tokens: 0, sub_calls: 2 } };
    expect(await store.jobs.reserve({ ...hold, call: "one" })).toBe("held");
    expect(await store.jobs.reserve({ ...hold, call: "two" })).toBe("wait");

    await of.change(place, "DELETE FROM STORE.holds");
    await expect(store.jobs.reserve({ ...hold, call: "two" })).rejects.toMatchObject({
      code: "store_corrupt",
      message: expect.stringContaining("run r is damaged"),
    });
  },
);

test.for(EDITED)(
  "$kind: rows that can be read are listed without the damaged ones, and these are dropped",
  async (of, { skip }) => {
    skip(of.skipped !== null, of.skipped ?? "");
    const place = await of.place();
    await using store = await openStore(place);
    for (const id of ["S1", "S2", "S3"]) {
      await store.create({ id, name: null, origin: "command", settings: null, at: 1 });
      await store.release(id);
    }
    for (const name of ["r", "t"]) {
      await store.jobs.open({ ...RUN, id: name.toUpperCase(), name });
    }
    await store.jobs.add(
      "R",
      ["a", "b"].map((id) => ({ id, session: `J${id}`, input: "1", context: null })),
    );
    expect([await store.damaged(), await store.jobs.damagedRuns(), await store.jobs.damaged("R")]).toEqual([
      [],
      [],
      [],
    ]);

    await of.change(place, "UPDATE STORE.sessions SET facts = '{}' WHERE id = 'S2'");
    await of.change(place, "UPDATE STORE.jobs SET state = 'wating' WHERE id = 'a'");
    await of.change(place, "UPDATE STORE.runs SET state = 'opeo' WHERE id = 'T'");
    const [sessions, jobs, runs] = [
      await store.damaged(),
      await store.jobs.damaged("R"),
      await store.jobs.damagedRuns(),
    ];
    expect(sessions).toEqual([{ id: "S2", problem: "the row of session S2 is damaged" }]);
    expect(jobs).toEqual([{ id: "a", problem: expect.stringMatching(/^job a: /) }]);
    expect(runs).toEqual([{ id: "T", problem: expect.stringMatching(/^run t \(T\): /) }]);
    const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
    expect(idsOf(await store.list({ after: null, limit: 9, without: ["S2"] }))).toEqual(["S3", "S1"]);
    expect(idsOf(await store.jobs.list("R", { from: 0, limit: 9, without: ["a"] }))).toEqual(["b"]);
    expect(await store.jobs.counts("R", ["a"])).toMatchObject({ waiting: 1 });
    expect(idsOf(await store.jobs.runs({ after: null, limit: 9, without: ["T"] }))).toEqual(["R"]);

    await store.remove("S2");
    await store.jobs.remove("T");
    await store.jobs.remove("R");
    expect(idsOf(await store.list({ after: null, limit: 9 }))).toEqual(["S3", "S1"]);
    expect([await store.jobs.runs({ after: null, limit: 9 }), await findingsIn(store)]).toEqual([[], []]);
  },
);

test.for(EDITED)("$kind: a final job that is not as it ended is refused by name", async (of, { skip }) => {
  skip(of.skipped !== null, of.skipped ?? "");
  const place = await of.place();
  await using store = await openStore(place);
  await store.jobs.open(RUN);
  const jobs = ["a", "b", "c"].map((id) => ({
    id,
    session: `S${id}`,
    input: JSON.stringify("é\n"),
    context: id === "c" ? "h" : null,
  }));
  await store.jobs.add("R", jobs);
  for (const n of [0, 1]) {
    const begun = { ticket: "t", fence: 0, engine: "e", lapses: 1, answers: 2 };
    await store.jobs.begin({ run: "R", n }, begun);
    const end = n === 0 ? { state: "done" as const, result: '"yes"' } : { state: "failed" as const, result: null };
    expect(await store.jobs.finish({ run: "R", n }, 0, { ...end, told: { ms: 5 } })).toBe(true);
  }
  await store.jobs.change("R", { to: "cancel", ids: null });
  const sealed = "SELECT n FROM STORE.jobs WHERE length(sha256) = 64 ORDER BY n";
  expect((await of.change(place, sealed)).map(({ n }) => Number(n))).toEqual([0, 1, 2]);
  const list = () => store.jobs.list("R", { from: 0, limit: 9 });
  expect((await list()).map(({ state }) => state)).toEqual(["done", "failed", "cancelled"]);
  expect([await findingsIn(store), await store.jobs.result({ run: "R", n: 0 })]).toEqual([[], '"yes"']);

  await of.change(place, "CREATE TABLE STORE.kept AS SELECT * FROM STORE.jobs");
  for (const [change, refused] of [
    ["session = 'X'", "list"],
    ["state = 'failed'", "list"],
    ["state = 'donf'", "list"],
    ["why = 'x'", "list"],
    ["told = input", "list"],
    ["asked = sha256", "list"],
    ["input = told", "input"],
    ["ended_at = ended_at + 1", "list"],
    ["answers = 3", "list"],
    ["n = 7", "list"],
    ["sha256 = NULL", "list"],
    ["sha256 = substr(sha256, 1, 32)", "list"],
    ["result = NULL", "result"],
    ["result = told", "result"],
  ] as const) {
    await of.change(place, `UPDATE STORE.jobs SET ${change} WHERE id = 'a'`);
    const reading = refused === "list" ? list() : store.jobs[refused]({ run: "R", n: 0 });
    await expect(reading, change).rejects.toMatchObject({ code: "store_corrupt" });
    const chosen = store.jobs.list("R", { from: 0, limit: 9, states: ["done"] });
    if (refused === "list" && change !== "state = 'failed'") await expect(chosen, change).rejects.toThrow();
    expect(await findingsIn(store), change).toEqual([expect.stringMatching(/job a of run R/)]);
    await of.change(place, "DELETE FROM STORE.jobs");
    await of.change(place, "INSERT INTO STORE.jobs SELECT * FROM STORE.kept");
  }

  // A job that is tried again has no seal.
  await store.jobs.change("R", { to: "retry", ids: ["b", "c"], states: ["failed", "cancelled"], fresh: false });
  expect((await list()).map(({ state }) => state)).toEqual(["done", "waiting", "waiting"]);
  expect([(await of.change(place, sealed)).length, await findingsIn(store)]).toEqual([1, []]);
});
