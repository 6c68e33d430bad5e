import { deleteFamily } from "../../sql/gc.ts";
import { atMost, damagedJobs, findJob, listJobs, readInput, readJobOfRun, readResult } from "../../sql/jobs.ts";
import {
  addJobs,
  damagedRuns,
  dropRun,
  findRun,
  knownJobs,
  listRuns,
  openRun,
  runIsBusy,
  sessionsOf,
  setLimits,
} from "../../sql/runs.ts";
import type { Plan } from "../../sql/sql.ts";
import {
  begin,
  type Changing,
  changeRun,
  countLapses,
  finish,
  putBack,
  replaceJobs,
  runningJobs,
} from "../../sql/tries.ts";
import type { SyncJobs } from "../../thread/methods.ts";
import type { Access } from "../session-methods.ts";
import { changingAt, countJobs, dueJobs } from "./jobs.ts";
import { give, hush, reserve, slot } from "./money.ts";

/** The store's methods for runs and their jobs. @param now the clock, ms since the epoch */
export function jobMethods({ database, leases, guard, reading }: Access, now: () => number): SyncJobs {
  const writing = <T>(work: () => T) => guard(() => database.write(work));
  const performed = <T>(plan: () => Plan<T>) => reading(() => database.perform(plan()));
  const changed = <T>(plan: (own: Changing) => Plan<T>) => writing(() => database.perform(plan(changingAt(now()))));
  return {
    "jobs.open": (run) => changed((own) => openRun(run, own.now)),
    "jobs.add": (run, jobs) => changed((own) => addJobs(run, jobs, own.now)),
    "jobs.known": (run, jobs) => performed(() => knownJobs(run, jobs)),
    "jobs.replace": (run, jobs) => changed((own) => replaceJobs(run, jobs, own)),
    "jobs.run": (nameOrId) => performed(() => findRun(nameOrId)),
    "jobs.runs": (page) => performed(() => listRuns(page)),
    "jobs.damagedRuns": () => performed(() => damagedRuns()),
    "jobs.read": (key) => performed(() => readJobOfRun(key)),
    "jobs.find": (run, id) => performed(() => findJob(run, id)),
    "jobs.list": (run, page) => performed(() => listJobs(run, page)),
    "jobs.damaged": (run) => performed(() => damagedJobs(run)),
    "jobs.input": (key) => performed(() => readInput(key)),
    "jobs.result": (key) => performed(() => readResult(key)),
    "jobs.counts": (run, without) => reading(() => countJobs(database, leases, run, without)),
    "jobs.begin": (key, taking) => changed((own) => begin(key, taking, own)),
    "jobs.finish": (key, fence, outcome) => changed((own) => finish(key, fence, outcome, own)),
    "jobs.put": (key, fence, back) => changed((own) => putBack(key, fence, back, own)),
    "jobs.change": (run, wanted) => changed((own) => changeRun(run, wanted, own)),
    "jobs.limit": (run, limits) => changed(() => setLimits(run, limits)),
    "jobs.remove": (run) => writing(() => removeRun({ database, leases }, run)),
    "jobs.due": (page) => reading(() => dueJobs(database, leases, { ...page, limit: atMost(page.limit) }, now())),
    "jobs.lapse": (run) =>
      changed(function* (own) {
        const running = yield* runningJobs(run);
        const lapsed = running.filter(({ session }) => !leases.busy(session));
        return yield* countLapses(
          run,
          lapsed.map(({ n }) => n),
          own,
        );
      }),
    "jobs.reserve": (hold) => changed(() => reserve(hold)),
    "jobs.give": (hold, spent) => changed(() => give(hold, spent)),
    "jobs.slot": (rate, cost) => changed(() => slot(rate, cost, now())),
    "jobs.hush": (rate, ms) => changed(() => hush(rate, ms, now())),
  };
}

/** @throws RlmError `session_busy` if a job of it is being tried, `run_not_found` */
function removeRun({ database, leases }: Pick<Access, "database" | "leases">, run: string): void {
  const { name, sessions } = database.perform(sessionsOf(run));
  if (sessions.some((session) => leases.busy(session))) throw runIsBusy(name);
  for (const session of sessions) database.perform(deleteFamily(session));
  database.perform(dropRun(run));
}
