import { ulid } from "ulid";
import type { Back, Change, JobKey, NewJob, Tried } from "../jobs/port.ts";
import { sumOfAsked } from "../rows/job-input.ts";
import { triedOf } from "../rows/jobs.ts";
import { number } from "../rows/seal.ts";
import { readRun } from "./runs.ts";
import { all, oneOf, type Part, type Plan, packed, run, spelled, sql } from "./sql.ts";

/** The side of a database in changes of jobs. */
export interface Changing {
  /** The clock of the store, ms since the epoch. */
  readonly now: Part;
  /** Seals a job that has become final. A server does so by itself. */
  seal?(job: JobKey): Plan<void>;
}

/** The try gives the job back. One that is being cancelled stays so. false: another try has taken it. */
export function* putBack({ run: of, n }: JobKey, fence: number, back: Back, { now }: Changing): Plan<boolean> {
  // A server goes by the fence of the session too, if it is there.
  const newer = sql`AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = jobs.session AND s.fence > ${fence})`;
  const changed = yield* run(sql`UPDATE jobs SET state = CASE state WHEN 'cancelling' THEN state ELSE ${back.state} END,
      why = ${back.why}, run_at = ${back.afterMs > 0 ? sql`${now} + ${back.afterMs}` : null},
      attempts = attempts + ${back.counts ? 1 : 0}, changed_at = ${now}
    WHERE run = ${of} AND n = ${n} AND fence = ${fence} AND state IN ('running', 'cancelling') ${spelled(sql``, newer)}`);
  return changed === 1;
}

/** Returns the jobs that somebody tries now. @throws RlmError `run_not_found` */
export function* changeRun(id: string, change: Change, own: Changing): Plan<readonly Tried[]> {
  yield* readRun(id);
  switch (change.to) {
    case "cancel":
      return yield* cancel(id, change.ids, own);
    case "retry":
      yield* retry(id, change, own);
      return [];
    case "pause":
      yield* run(sql`UPDATE runs SET state = 'paused', why = ${change.why} WHERE id = ${id}`);
      return [];
    case "resume":
      yield* run(sql`UPDATE runs SET state = 'open', why = NULL WHERE id = ${id}`);
      yield* run(sql`UPDATE jobs SET state = 'waiting', why = NULL, run_at = NULL, changed_at = ${own.now}
        WHERE run = ${id} AND state = 'parked'`);
      return [];
  }
}

function* cancel(id: string, ids: readonly string[] | null, { now, seal }: Changing): Plan<readonly Tried[]> {
  const cancelled = yield* all(sql`UPDATE jobs
    SET state = 'cancelled', why = NULL, run_at = NULL, ended_at = ${now}, changed_at = ${now}
    WHERE ${chosen(id, ids)} AND state IN ('waiting', 'parked') RETURNING n`);
  if (seal) for (const row of cancelled) yield* seal({ run: id, n: number(row, "n") });
  const running = yield* all(sql`UPDATE jobs SET state = 'cancelling', changed_at = ${now}
    WHERE ${chosen(id, ids)} AND state IN ('running', 'cancelling') RETURNING run, n, rank, ticket`);
  return running.flatMap(triedOf);
}

type Retry = Extract<Change, { to: "retry" }>;

/** Gives each job an attempt of its own: a fresh session, and counts from 0. With `fresh` also those that were begun and wait. */
function* retry(id: string, { ids, states, fresh }: Retry, { now }: Changing): Plan<void> {
  const begun = fresh ? sql`OR (state IN ('waiting', 'parked') AND begun_at IS NOT NULL)` : sql``;
  const again = yield* all(sql`SELECT n FROM jobs WHERE ${chosen(id, ids)} AND (state ${oneOf(states)} ${begun})
    ${spelled(sql``, sql`FOR UPDATE`)}`);
  for (const row of again) {
    yield* run(sql`UPDATE jobs SET ${anew(ulid(), now)} WHERE run = ${id} AND n = ${number(row, "n")}`);
  }
}

/** Jobs that nobody tries wait for what is asked of them now. Returns how many they are. */
export function* replaceJobs(id: string, jobs: readonly NewJob[], { now }: Changing): Plan<number> {
  let replaced = 0;
  for (const job of jobs) {
    const input = packed(JSON.stringify(job.input));
    replaced += yield* run(sql`UPDATE jobs SET ${anew(job.session, now)}, input = ${input}, context = ${job.context},
        asked = ${sumOfAsked(id, job)} WHERE run = ${id} AND id = ${job.id} AND state NOT IN ('running', 'cancelling')`);
  }
  return replaced;
}

/** @param ids null: all of them */
const chosen = (id: string, ids: readonly string[] | null) =>
  sql`run = ${id} ${ids === null ? sql`` : sql`AND id ${oneOf(ids)}`}`;

const anew = (session: string, now: Part) => sql`state = 'waiting', why = NULL, run_at = NULL, ticket = NULL, fence = 0,
  session = ${session}, engine = NULL, attempts = 0, lapses = 0, answers = 0, result = NULL, told = NULL, begun_at = NULL,
  ended_at = NULL, sha256 = NULL, changed_at = ${now}`;
