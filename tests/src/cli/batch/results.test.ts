import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openResultFile } from "../../../../src/cli/batch/results.ts";
import { openResultLines, resultLine } from "../../../../src/runs/results.ts";
import type { JobPage, JobRow, JobState } from "../../../../src/store/index.ts";
import { collected } from "../../../support/collected.ts";
import { folderWith } from "../../../support/tree.ts";

const NOTHING = { nanodollars: 0, tokens: 0, sub_calls: 0 };

function row(n: number, state: JobState): JobRow {
  const told = state === "done" ? { output: "", sub_calls: 2, tokens: 10, cost_usd: 0.5, ms: 7, resumed: 1 } : null;
  const times = { run_at: null, begun_at: null, ended_at: null };
  const tried = {
    ticket: null,
    fence: 0,
    engine: null,
    model: null,
    attempts: 0,
    lapses: 0,
    answers: 0,
    spent: NOTHING,
    told,
  };
  return { run: "r", n, id: `j${n}`, session: `s${n}`, context: null, state, why: null, rank: n, ...times, ...tried };
}

/** Jobs whose states a test changes. */
function runOf(states: JobState[]) {
  return {
    states,
    jobs: {
      list: async (_run: string, { from, limit, states: wanted = states }: JobPage) =>
        states
          .map((state, n) => row(n, state))
          .filter(({ n, state }) => n >= from && wanted.includes(state))
          .slice(0, limit),
      input: async ({ n }: { n: number }) => `{"id":"j${n}"}`,
      result: async ({ n }: { n: number }) => JSON.stringify({ n }),
    },
  };
}

const ids = (lines: readonly string[]) => lines.map((line) => JSON.parse(line).job);

test("a line has the fields of a result in their order, and errors only where there is one", () => {
  expect(resultLine(row(3, "done"), '{"a":\n1}')).toBe(
    '{"job":"j3","n":3,"status":"done","result":{"a": 1},"output":"","sub_calls":2,"tokens":10,"cost_usd":0.5,"ms":7,"attempts":0,"resumed":1,"session":"s3"}',
  );
  const failed = {
    ...row(0, "failed"),
    told: { error_code: "guest_error", error: "Error: x", suggestion: "Look.", output: "hi" },
  };
  expect(resultLine(failed, null)).toBe(
    '{"job":"j0","n":0,"status":"failed","result":null,"error_code":"guest_error","error":"Error: x","suggestion":"Look.","output":"hi","sub_calls":0,"tokens":0,"cost_usd":0,"ms":0,"attempts":0,"resumed":0,"session":"s0"}',
  );
});

test("results come in the order of the jobs, once all before them are over", async () => {
  const { states, jobs } = runOf(["done", "running", "failed", "waiting"]);
  const lines = openResultLines({ run: "r", order: null, jobs, unordered: false });
  expect(ids(await collected(lines.next()))).toEqual(["j0"]);
  expect(ids(await collected(lines.next()))).toEqual([]);
  states[1] = "cancelled";
  expect(ids(await collected(lines.next()))).toEqual(["j1", "j2"]);
  states[3] = "done";
  expect(ids(await collected(lines.next()))).toEqual(["j3"]);
});

test("--unordered gives each result as soon as it is there, once", async () => {
  const { states, jobs } = runOf(["waiting", "running", "failed", "waiting"]);
  const lines = openResultLines({ run: "r", order: null, jobs, unordered: true });
  expect(ids(await collected(lines.next()))).toEqual(["j2"]);
  states[0] = "done";
  expect(ids(await collected(lines.next()))).toEqual(["j0"]);
  states.fill("done");
  expect(ids(await collected(lines.next()))).toEqual(["j1", "j3"]);
  expect(ids(await collected(lines.next()))).toEqual([]);
});

test("runs of more than one page are whole, ordered or not", async () => {
  const { jobs } = runOf(Array<JobState>(2500).fill("done"));
  for (const unordered of [false, true]) {
    expect(await collected(openResultLines({ run: "r", order: null, jobs, unordered }).next())).toHaveLength(2500);
  }
});

test("the file begins with what the store has, whatever it had, and is then followed", async () => {
  const folder = folderWith({ "out.jsonl": "torn lin", ".out.jsonl.r.part": "left by a killed process" });
  const path = join(folder, "out.jsonl");
  const { states, jobs } = runOf(["done", "waiting"]);
  const file = await openResultFile(path, { run: "r", order: null, jobs, unordered: false });
  expect(ids(readFileSync(path, "utf8").trimEnd().split("\n"))).toEqual(["j0"]);
  states[1] = "done";
  await Promise.all([file.follow(), file.follow()]);
  await file.close();
  expect(ids(readFileSync(path, "utf8").trimEnd().split("\n"))).toEqual(["j0", "j1"]);
  const whole = readFileSync(path);
  await (await openResultFile(path, { run: "r", order: null, jobs, unordered: false })).close();
  expect(readFileSync(path)).toEqual(whole);
  expect(readdirSync(folder)).toEqual(["out.jsonl"]);
});

test("a link is followed, and the file keeps its mode", async () => {
  const folder = folderWith({ "real.jsonl": "" }, { "link.jsonl": "real.jsonl" });
  writeFileSync(join(folder, "real.jsonl"), "", { mode: 0o600 });
  const { jobs } = runOf(["done"]);
  await (await openResultFile(join(folder, "link.jsonl"), { run: "r", order: null, jobs, unordered: false })).close();
  expect(ids([readFileSync(join(folder, "real.jsonl"), "utf8")])).toEqual(["j0"]);
  expect(readdirSync(folder)).toEqual(["link.jsonl", "real.jsonl"]);
  expect(statSync(join(folder, "real.jsonl")).mode & 0o777).toBe(statSync(join(folder, "link.jsonl")).mode & 0o777);
});

test("a file that cannot be written on is a problem that is told, and the run is not held up", async () => {
  const { states, jobs } = runOf(["waiting"]);
  const file = await openResultFile("/dev/full", { run: "r", order: null, jobs, unordered: false });
  await file.follow();
  expect(file.problem).toBeNull();
  states[0] = "done";
  await file.follow();
  await file.follow();
  expect(file.problem).toMatchObject({ code: "output_failed", message: "/dev/full cannot be written: ENOSPC" });
  await file.close();
});
