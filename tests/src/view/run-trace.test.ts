import { expect, test } from "vitest";
import { STATES } from "../../../src/view/format.ts";
import { traceOfRun } from "../../../src/view/run-trace.ts";
import { jobOf, runOf } from "../../support/view/synthetic-run.ts";
import { lineOf, modelled, textsIn } from "../../support/view/traced.ts";

const TRACING = { texts: true, maxBytes: 2 ** 25, belay: "0.0.0", now: 0 };
const BEGAN = Date.UTC(2026, 2, 3, 10);
const KEY = `sk-${"a".repeat(40)}`;

const jobs = () => [
  jobOf(0, "done", {
    ...{ begun_at: BEGAN + 1000, ended_at: BEGAN + 3000, lapses: 1 },
    spent: { nanodollars: 1_234_567, tokens: 40, sub_calls: 3 },
  }),
  jobOf(1, "failed", {
    ...{ begun_at: BEGAN + 2000, ended_at: BEGAN + 4000, attempts: 2 },
    told: { error_code: "timeout", error: `it had ${KEY}`, output: "x".repeat(2 ** 20) },
  }),
  jobOf(2, "waiting", { why: "provider" }),
  jobOf(4, "running", { begun_at: BEGAN + 3_604_000 }),
];

test("a run's jobs become rows: state, why, tries, cost, calls and times", () => {
  const trace = traceOfRun(runOf(jobs(), { state: "running" }), TRACING);
  const model = modelled(trace);
  const lines = jobs().map((_, job) => lineOf(model, job));
  expect(lines).toEqual([
    "queue 1000 run 2000 model 1 input 40 micro 1234 nano 567 resent 1 delivery - calls 3 plen 6",
    "number 1 queue 2000 run 2000 kind 1 model 1 error 1 tries 2 delivery - plen 6 alen 32",
    "number 2 queue - run - kind 3 model 1 why 2 delivery - plen 6",
    "number 4 queue 3604000 run - kind 2 model 1 delivery - plen 6",
  ]);
  expect(trace.head).toMatchObject({ subject: "run", errors: ["", "timeout", "provider"], redacted: 1, kinds: STATES });
  expect(trace.head.session).toMatchObject({ name: "label-mails", status: "running", budget_usd: 60, left_out: [] });
  expect(trace.head.execs).toMatchObject([{ kind: "run", status: "unfinished", ended: null, to: 4 }]);
  expect(textsIn(trace)[1]).toEqual(["mail-1", "it had [redacted: 43 characters]"]);
  // The hour in which no job was tried is cut out.
  expect(model.clock).toMatchObject({ running: 3000, cuts: [{ ms: 3_600_000 }] });
  expect(model.sums).toMatchObject({ nanos: 1_234_567, failed: 1, most: 2, calls: 3 });
});

test("tokens of a job that nobody told are marked in its row", () => {
  const spent = { nanodollars: 0, tokens: 40, sub_calls: 1 };
  const job = jobOf(0, "done", { begun_at: BEGAN, ended_at: BEGAN, told: { estimated: 30 }, spent });
  const model = modelled(traceOfRun(runOf([job]), TRACING));
  expect(lineOf(model, 0)).toContain("input 40 estimated 30");
});

test("without texts neither ids nor names nor words of errors are in it, and states, codes and sums are", () => {
  const canary = { id: "canary", told: { error_code: "timeout", error: "canary" }, begun_at: BEGAN, ended_at: BEGAN };
  const run = { ...runOf([]).run, name: "canary", spec: { model: "a/b", script: "canary" } };
  const listed = runOf([jobOf(0, "failed", canary)], {
    run,
    damaged: ["job canary of run canary is damaged"],
    more: 7,
  });
  const bare = traceOfRun(listed, { ...TRACING, texts: false });
  expect(JSON.stringify(bare)).not.toContain("canary");
  expect(bare).toMatchObject({ head: { texts: "none", errors: ["", "timeout"], models: ["", "a/b"] }, chunks: [] });
  expect(bare.head.session).toMatchObject({ damaged: ["1 damaged job"], left_out: ["7 jobs behind these"] });
  expect(traceOfRun(listed, TRACING).head.session.damaged).toEqual(["job canary of run canary is damaged"]);
});

test("a run that is over ended with its last job", () => {
  const over = jobs().slice(0, 2);
  expect(traceOfRun(runOf(over), TRACING).head.execs).toMatchObject([{ status: "failed", ended: BEGAN + 4000 }]);
  expect(traceOfRun(runOf(over, { more: 1 }), TRACING).head.execs).toMatchObject([{ status: "unfinished" }]);
  expect(traceOfRun(runOf([]), TRACING).head.execs).toMatchObject([{ status: "ok", ended: BEGAN }]);
});
