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
import { type Changing, changeRun, putBack, replaceJobs } from "../../sql/tries.ts";
import type { SyncJobs } from "../../thread/methods.ts";
import type { Access } from "../session-methods.ts";
import { begin, countJobs, dueJobs, finish, lapse, sealFinal } from "./jobs.ts";
import { give, hush, reserve, slot } from "./money.ts";

/** The store's methods for runs and their jobs. @param now the clock, ms since the epoch */
export function jobMethods({ database, leases, guard, reading }: Access, now: () => number): SyncJobs {
  const writing = <T>(work: () => T) => guard(() => database.write(work));
  const performed = <T>(plan: () => Plan<T>) => reading(() => database.perform(plan()));
  const changing = <T>(plan: (own: Changing) => Plan<T>) =>
    writing(() => database.perform(plan({ now: now(), seal: sealFinal })));
  return {
    "jobs.open": (run) => writing(() => database.perform(openRun(run, now()))),
    "jobs.add": (run, jobs) => writing(() => database.perform(addJobs(run, jobs, now()))),
    "jobs.known": (run, jobs) => performed(() => knownJobs(run, jobs)),
    "jobs.replace": (run, jobs) => changing((own) => replaceJobs(run, jobs, own)),
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
    "jobs.begin": (key, taking) => writing(() => begin(database, key, taking, now())),
    "jobs.finish": (key, fence, outcome) => writing(() => finish(database, key, fence, outcome, now())),
    "jobs.put": (key, fence, back) => changing((own) => putBack(key, fence, back, own)),
    "jobs.change": (run, wanted) => changing((own) => changeRun(run, wanted, own)),
    "jobs.limit": (run, limits) => writing(() => database.perform(setLimits(run, limits))),
    "jobs.remove": (run) => writing(() => removeRun({ database, leases }, run)),
    "jobs.due": (page) => reading(() => dueJobs(database, leases, { ...page, limit: atMost(page.limit) }, now())),
    "jobs.lapse": (run) => writing(() => lapse(database, leases, run, now())),
    "jobs.reserve": (hold) => writing(() => reserve(database, hold)),
    "jobs.give": (hold, spent) => writing(() => give(database, hold, spent)),
    "jobs.slot": (rate, cost) => writing(() => slot(database, rate, cost, now())),
    "jobs.hush": (rate, ms) => writing(() => hush(database, rate, ms, now())),
  };
}

/** @throws RlmError `session_busy` if a job of it is being tried, `run_not_found` */
function removeRun({ database, leases }: Pick<Access, "database" | "leases">, run: string): void {
  const { name, sessions } = database.perform(sessionsOf(run));
  if (sessions.some((session) => leases.busy(session))) throw runIsBusy(name);
  for (const session of sessions) database.perform(deleteFamily(session));
  database.perform(dropRun(run));
}
