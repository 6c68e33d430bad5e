import { isRecord } from "../../platform/json.ts";
import type { JobRow } from "../../store/index.ts";

/** Attempts that were begun: those that failed in a way that counts, and the one that runs or ended it. */
export function attemptsOf({ attempts, begun_at, state }: JobRow): number {
  const isBeingTried = begun_at !== null && state !== "waiting" && state !== "parked";
  return attempts + (isBeingTried ? 1 : 0);
}

/** A job for programs, without its input and its result. */
export function jobJson(job: JobRow): object {
  const told = isRecord(job.told) ? job.told : {};
  return {
    job: job.id,
    n: job.n,
    status: job.state,
    why: job.why,
    ...(told.error_code === undefined
      ? {}
      : { error_code: told.error_code, error: told.error, suggestion: told.suggestion }),
    sub_calls: job.spent.sub_calls,
    tokens: job.spent.tokens,
    cost_usd: job.spent.nanodollars / 1e9,
    attempts: attemptsOf(job),
    lapses: job.lapses,
    run_at: job.run_at,
    begun_at: job.begun_at,
    ended_at: job.ended_at,
    session: job.session,
  };
}
