import type { Amount, Counts, RunLimits, RunRow } from "../../store/index.ts";
import { jobsIn, overIn, type Standing } from "./progress-line.ts";

/** How a run stands, for programs. */
export function standingJson({ counts, run }: Pick<Standing, "counts" | "run">): object {
  return {
    jobs: jobsJson(counts),
    spent: amountJson(run.spent),
    held: amountJson(run.held),
    doubtful: amountJson(run.doubtful),
    limits: amountJson(run.limits),
  };
}

const jobsJson = ({ workers, ...states }: Counts) => ({ all: jobsIn({ workers, ...states }), ...states, workers });

/** Dollars for nanodollars. */
const amountJson = ({ nanodollars, tokens, sub_calls }: Amount | RunLimits) => ({
  cost_usd: nanodollars === null ? null : nanodollars / 1e9,
  tokens,
  sub_calls,
});

/** A run for programs. */
export function runJson({ run, counts }: { readonly run: RunRow; readonly counts: Counts }): object {
  const { id, name, queue, share, why, created_at } = run;
  return { id, name, queue, share, state: stateOf({ run, counts }), why, created_at, ...standingJson({ counts, run }) };
}

/** The state of a run in a word, for people and programs. */
export function stateOf({ run, counts }: { readonly counts: Counts; readonly run: Pick<RunRow, "state"> }): RunState {
  if (overIn(counts) === jobsIn(counts)) return "over";
  if (run.state === "paused") return "paused";
  // Their process has ended, and nobody has gone on with them.
  if (counts.running + counts.cancelling > 0) return counts.workers > 0 ? "running" : "interrupted";
  return counts.waiting > 0 ? "waiting" : "parked";
}

type RunState = "over" | "paused" | "running" | "interrupted" | "waiting" | "parked";
