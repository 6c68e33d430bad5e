import type { JobState, RunRow } from "../../../src/store/index.ts";
import { type ListedJob, listedJob, type traceOfRun } from "../../../src/view/run-trace.ts";

type ListedRun = Parameters<typeof traceOfRun>[0];

const BEGAN = Date.UTC(2026, 2, 3, 10);
const MODEL = "anthropic/claude-sonnet-5";

/** A job of a run, as the store lists it. */
export function jobOf(n: number, state: JobState, more: Partial<Parameters<typeof listedJob>[0]> = {}): ListedJob {
  return listedJob({
    ...{ run: "01RUN", n, id: `mail-${n}`, context: null, session: `01JOB${n}`, state, why: null, rank: 0 },
    ...{
      run_at: null,
      ticket: null,
      fence: 1,
      engine: null,
      model: null,
      attempts: 0,
      lapses: 0,
      answers: 0,
      told: null,
    },
    ...{ spent: { nanodollars: 0, tokens: 0, sub_calls: 0 }, begun_at: null, ended_at: null },
    ...more,
  });
}

/** A run of these jobs that began with the first of them. */
export function runOf(jobs: readonly ListedJob[], more: Partial<ListedRun> = {}): ListedRun {
  const none = { nanodollars: 0, tokens: 0, sub_calls: 0 };
  const run: RunRow = {
    ...{ id: "01RUN", name: "label-mails", queue: "q", share: 1, spec: { model: MODEL }, hash: "h" },
    state: "open",
    ...{ limits: { nanodollars: 60e9, tokens: null, sub_calls: null }, why: null, spent: none, held: none },
    ...{ doubtful: none, created_at: BEGAN },
  };
  return { run, state: "over", jobs, more: 0, damaged: [], ...more };
}

/** A run of so many jobs, sixteen at once: some failed, and the last ones wait for money. */
export function syntheticRun(count: number): ListedRun {
  const jobs = Array.from({ length: count }, (_, n) => {
    const begun_at = BEGAN + Math.floor(n / 16) * 900 + (n % 16) * 20;
    const spent = { nanodollars: 1_234_567 + n, tokens: 800 + (n % 90), sub_calls: 3 + (n % 4) };
    if (n >= count - 20) return jobOf(n, "parked", { why: "budget", begun_at, spent, attempts: 1 });
    const ended_at = begun_at + 300 + ((n * 7919) % 500) + (n % 997 === 0 ? 20_000 : 0);
    if (n % 83 !== 5) return jobOf(n, "done", { begun_at, ended_at, spent });
    const told = { error_code: n % 2 ? "schema_mismatch" : "timeout", error: `The answer to mail ${n} was not given.` };
    return jobOf(n, "failed", { begun_at, ended_at, spent, told, attempts: 2, lapses: 1 });
  });
  return runOf(jobs, { state: "paused" });
}
