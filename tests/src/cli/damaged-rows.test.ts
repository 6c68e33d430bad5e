import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { corruptRuns } from "../../../campaigns/corrupt/runs.ts";
import { openStore as openSessions } from "../../../src/index.ts";
import { openStore } from "../../../src/store/index.ts";
import { folderWith } from "../../support/tree.ts";
import { json, said } from "./belay.ts";
import { belayHere } from "./in-process.ts";

const NAMES = ["first", "second", "third"] as const;
const ID = { first: `01${"A".repeat(24)}`, second: `01${"B".repeat(24)}`, third: `01${"C".repeat(24)}` };

/** A store with three sessions and two runs of two jobs, to whose rows this SQL was done. */
async function damagedBy(sql: string) {
  const home = join(folderWith(), "home");
  await using store = await openStore(home);
  for (const name of NAMES) {
    await store.create({ id: ID[name], name, origin: "command", settings: null, at: 1 });
    await store.release(ID[name]);
  }
  const limits = { nanodollars: null, tokens: null, sub_calls: null };
  for (const name of ["old", "new"]) {
    const run = name === "old" ? "R1" : "R2";
    await store.jobs.open({ id: run, name, queue: "q", share: 1, spec: null, hash: "", limits });
    const jobs = ["a", "b"].map((id) => ({ id, session: `${run}${id}`, input: "1", context: null }));
    await store.jobs.add(run, jobs);
  }
  using database = new DatabaseSync(join(home, "belay.db"));
  database.exec(sql);
  return Object.assign((...args: string[]) => belayHere(args, { home }), { home });
}

test("a damaged row of a session is named beside the others, kept by gc, and dropped by its id", async () => {
  const belay = await damagedBy("UPDATE sessions SET settings = '{}' WHERE name = 'second'");
  const damage = `the row of session ${ID.second} is damaged`;
  const listed = await belay("sessions");
  expect(listed).toMatchObject({ code: 1, stdout: expect.stringMatching(/^session .*\nthird .*\nfirst .*\n$/) });
  expect(listed.stderr).toMatch(
    `error: ${damage}. Only what can be read is shown (store_corrupt)\nsuggestion: To see all that is damaged run \`belay doctor\``,
  );
  expect(json(await belay("sessions", "--json"))).toMatchObject({
    ...{ success: false, error_code: "store_corrupt" },
    sessions: [{ name: "third" }, { name: "first" }],
    damaged: [{ id: ID.second, problem: damage }],
  });
  expect(await belay("gc")).toMatchObject({
    ...{ code: 1, stdout: "nothing to drop\n" },
    stderr: expect.stringContaining(`error: ${damage}. Damaged sessions stay, with all that is theirs (store_corrupt)`),
  });

  await using library = await openSessions(belay.home);
  expect((await library.list()).map(({ name }) => name)).toEqual(["third", "first"]);
  expect(await library.damaged()).toEqual([{ id: ID.second, problem: damage }]);

  const stderr = expect.stringContaining(`suggestion: \`belay rm ${ID.second}\` drops one that is damaged.`);
  expect(await belay("rm", "second")).toMatchObject({ code: 1, stderr });
  expect(await belay("rm", "nobody")).toMatchObject(said(1, "(session_not_found)"));
  const stdout = expect.stringMatching(`^removed ${ID.second}, whose row was damaged\nremoved first \\(`);
  expect(await belay("rm", ID.second, "first")).toMatchObject({ code: 0, stdout });
  expect(await belay("sessions")).toMatchObject({ code: 0, stderr: "" });
  expect(await belay("gc")).toMatchObject({ code: 0, stderr: "" });
});

test("@last and a bare resume pass over a damaged session and name it; rm drops no other in its place", async () => {
  const belay = await damagedBy("UPDATE sessions SET settings = '{}' WHERE name = 'third'");
  const damage = `the row of session ${ID.third} is damaged`;
  const told = expect.stringContaining(`${damage}: it is skipped; belay doctor lists all damage\n`);
  const ran = await belay("exec", "-e", "1", "-s", "@last", "--json");
  expect(ran).toMatchObject({ code: 0, stderr: told });
  expect(json(ran)).toMatchObject({ session_id: ID.second });
  expect(await belay("resume")).toMatchObject({ code: 0, stdout: "1\n", stderr: told });
  expect(await belay("show")).toMatchObject({ code: 0, stdout: expect.stringContaining("second"), stderr: told });
  expect(await belay("fork", "@last", "--name", "copy")).toMatchObject({ code: 0, stdout: "copy\n", stderr: told });
  expect(await belay("rm", "@last")).toMatchObject(said(1, damage));
  const { sessions } = json(await belay("sessions", "--json"));
  expect(sessions.map(({ name }: { name: string }) => name)).toEqual(["copy", "second", "first"]);
});

test("a damaged row of a run is named beside the other runs, and dropped by its id", async () => {
  const belay = await damagedBy("UPDATE runs SET state = 'opeo' WHERE name = 'old'");
  const listed = await belay("jobs");
  expect(listed).toMatchObject({ code: 1, stdout: expect.stringMatching(/^run .*\nnew +waiting .*\n$/) });
  expect(listed.stderr).toMatch(/^error: run old \(R1\): .*\. Only what can be read is shown \(store_corrupt\)\n/);
  expect(json(await belay("jobs", "--json"))).toMatchObject({
    ...{ success: false, error_code: "store_corrupt", runs: [{ name: "new" }] },
    damaged: [{ run: "R1", problem: expect.stringContaining("run old (R1)") }],
  });
  const stderr = expect.stringMatching(/^error: run old \(R1\): .*\nsuggestion: `belay jobs rm R1` drops the run/);
  expect(await belay("jobs", "old")).toMatchObject({ code: 1, stderr });
  expect(await belay("jobs", "rm", "old")).toMatchObject({ code: 1 });
  expect(await belay("jobs", "rm", "R1")).toMatchObject({
    ...{ code: 0, stdout: "removed the damaged run R1 with the sessions of its jobs\n" },
  });
  expect(await belay("jobs")).toMatchObject({ code: 0, stderr: "" });
});

test("a damaged row of a job is named beside its run and the other jobs", async () => {
  const belay = await damagedBy("UPDATE jobs SET state = 'wating' WHERE run = 'R1' AND id = 'a'");
  const named =
    /^error: run old: job a: .*\. Only what can be read is shown \(store_corrupt\)\nsuggestion: .*belay jobs rm old/;
  const listed = await belay("jobs");
  const stdout = expect.stringMatching(/\nnew +waiting +0\/2 .*\nold +waiting +0\/1 /);
  expect(listed).toMatchObject({ code: 1, stdout });
  expect(listed.stderr).toMatch(named);
  const shown = await belay("jobs", "old");
  expect(shown).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^old \(waiting\): 0\/1 done\n.*\nb +waiting /),
  });
  expect(shown.stderr).toMatch(named);
  expect(json(await belay("jobs", "old", "--json"))).toMatchObject({
    ...{ success: false, error_code: "store_corrupt", run: { name: "old" }, jobs: [{ job: "b" }] },
    damaged: [{ run: "old", job: "a" }],
  });
  const out = await belay("jobs", "out", "old");
  expect(out).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/^0 of 1 job have finished/) });
  expect(out.stderr).toContain("error: run old: job a: ");
  expect(json(await belay("jobs", "new", "--json"))).toMatchObject({ jobs: [{ job: "a" }, { job: "b" }] });
  const compared = await belay("show", "new", "--against", "old");
  expect(compared).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^0 of 2 jobs with another result, 1 new\n/),
  });
  expect(compared.stderr).toMatch(named);
});

/** A session of three cells, to whose records this SQL was done. */
async function damagedWork(sql: string) {
  const home = join(folderWith(), "home");
  const belay = (...args: string[]) => belayHere(args, { home });
  await belay("exec", "-e", "1 + 1", "-e", "let n = 42", "-e", "n", "-s", "work");
  using database = new DatabaseSync(join(home, "belay.db"));
  database.exec(sql);
  return belay;
}

/** The record that the second cell ended with. */
const SECOND_END = "UPDATE journal SET content = '{}' WHERE seq = 4";

test("show tells what can be read of a damaged session, names the damaged record, and fails", async () => {
  const belay = await damagedWork(SECOND_END);
  const page = await belay("show", "work");
  expect(page.code).toBe(1);
  expect(page.stdout).toMatch(
    /^work {2}idle\n.* 1 {2}cell {2}ok .*1 \+ 1\n {2}2 {2}cell {2}unfinished .*let n = 42\n {2}3 {2}cell {2}ok /s,
  );
  expect(page.stderr).toMatch(
    /^error: record 4 of session \w{26} is missing or damaged\. Only what can be read is shown \(store_corrupt\)\nsuggestion: .*belay doctor/,
  );
  const stdout = expect.stringContaining("result\n42\n");
  expect(await belay("show", "work", "--exec", "3")).toMatchObject({ code: 1, stdout });
});

test("--json has what can be read beside the error", async () => {
  const belay = await damagedWork(SECOND_END);
  const { code, stdout, stderr } = await belay("show", "work", "--json");
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  const { session, ...failure } = JSON.parse(stdout);
  expect(failure).toMatchObject({ success: false, error_code: "store_corrupt" });
  expect(session).toMatchObject({
    damaged: [`record 4 of session ${session.id} is missing or damaged`],
    execs: [{ status: "ok" }, { status: "unfinished" }, { status: "ok", result_json: 42 }],
  });
});

test("an exec whose start is damaged is left out", async () => {
  const belay = await damagedWork("DELETE FROM journal WHERE seq = 1");
  const { session } = JSON.parse((await belay("show", "work", "--json")).stdout);
  expect(session.execs.map(({ input }: { input: string }) => input)).toEqual(["let n = 42", "n"]);
});

test("a session whose context is damaged says so in show, and on its page", async () => {
  const cwd = folderWith({ "a.txt": "alpha" });
  const home = join(cwd, "home");
  const belay = (...args: string[]) => belayHere(args, { home, cwd });
  expect(await belay("exec", "-c", "a.txt", "--session", "work", "-e", "P.length")).toMatchObject({ code: 0 });
  const whole = await belay("show", "work");
  expect(whole).toMatchObject({ code: 0, stderr: "" });
  {
    using database = new DatabaseSync(join(home, "belay.db"));
    database.exec("UPDATE chunks SET bytes = x'00'");
  }
  const told =
    /^error: context [0-9a-f]{64}: its part [0-9a-f]{64} is missing or damaged\. Only what can be read is shown/;
  const shown = await belay("show", "work");
  expect(shown).toMatchObject({ code: 1, stderr: expect.stringMatching(told) });
  expect(shown.stdout).toContain("P.length");
  const { session } = JSON.parse((await belay("show", "work", "--json")).stdout);
  expect(session.damaged).toEqual([expect.stringMatching(/is missing or damaged$/)]);
  const page = await belay("view", "work", "-o", "page.html");
  expect(page).toMatchObject({ code: 1, stderr: expect.stringMatching(/is missing or damaged/) });
});

// `npm run campaign -- corrupt` does hundreds of damages.
test("a store with runs whose file, or whose checksum of a job, is cut is refused by every command", async () => {
  const { lines } = await corruptRuns({ folder: folderWith(), flips: 0, seed: 1, cutEvery: 512 });
  const summary = "flips 0 · cuts 10 · refused 10 · unharmed 0 · wrong 0 · crashed 0";
  expect(lines).toEqual([summary, "changed unseen, without a checksum 0 · belay doctor named 10 of 10"]);
});
