import { runIsBusy } from "../../jobs/refusals.ts";
import { text } from "../../rows/seal.ts";
import { deleteFamily } from "../../sql/gc.ts";
import type { SyncJobs } from "../../thread/methods.ts";
import type { Access } from "../session-methods.ts";
import { countJobs, damagedJobs, dueJobs, findJob, listJobs, readInput, readJobOfRun, readResult } from "./jobs.ts";
import { give, hush, reserve, slot } from "./money.ts";
import { addJobs, damagedRuns, findRun, knownJobs, listRuns, nameOfRun, openRun, setLimits } from "./runs.ts";
import { begin, change, finish, lapse, putBack, replace } from "./tries.ts";

/** The store's methods for runs and their jobs. @param now the clock, ms since the epoch */
export function jobMethods({ database, leases, guard, reading }: Access, now: () => number): SyncJobs {
  const writing = <T>(work: () => T) => guard(() => database.write(work));
  return {
    "jobs.open": (run) => writing(() => openRun(database, run, now())),
    "jobs.add": (run, jobs) => writing(() => addJobs(database, run, jobs, now())),
    "jobs.known": (run, jobs) => reading(() => knownJobs(database, run, jobs)),
    "jobs.replace": (run, jobs) => writing(() => replace(database, run, jobs, now())),
    "jobs.run": (nameOrId) => reading(() => findRun(database, nameOrId)),
    "jobs.runs": (page) => reading(() => listRuns(database, { ...page, limit: atMost(page.limit) })),
    "jobs.damagedRuns": () => reading(() => damagedRuns(database)),
    "jobs.read": (key) => reading(() => readJobOfRun(database, key)),
    "jobs.find": (run, id) => reading(() => findJob(database, run, id)),
    "jobs.list": (run, page) => reading(() => listJobs(database, run, { ...page, limit: atMost(page.limit) })),
    "jobs.damaged": (run) => reading(() => damagedJobs(database, run)),
    "jobs.input": (key) => reading(() => readInput(database, key)),
    "jobs.result": (key) => reading(() => readResult(database, key)),
    "jobs.counts": (run, without) => reading(() => countJobs(database, leases, run, without)),
    "jobs.begin": (key, taking) => writing(() => begin(database, key, taking, now())),
    "jobs.finish": (key, fence, outcome) => writing(() => finish(database, key, fence, outcome, now())),
    "jobs.put": (key, fence, back) => writing(() => putBack(database, key, fence, back, now())),
    "jobs.change": (run, wanted) => writing(() => change(database, run, wanted, now())),
    "jobs.limit": (run, limits) => writing(() => setLimits(database, run, limits)),
    "jobs.remove": (run) => writing(() => removeRun({ database, leases }, run)),
    "jobs.due": (page) => reading(() => dueJobs(database, leases, { ...page, limit: atMost(page.limit) }, now())),
    "jobs.lapse": (run) => writing(() => lapse(database, leases, run, now())),
    "jobs.reserve": (hold) => writing(() => reserve(database, hold)),
    "jobs.give": (hold, spent) => writing(() => give(database, hold, spent)),
    "jobs.slot": (rate, cost) => writing(() => slot(database, rate, cost, now())),
    "jobs.hush": (rate, ms) => writing(() => hush(database, rate, ms, now())),
  };
}

const PAGE = 1000;

const atMost = (limit: number) => Math.min(limit, PAGE);

/** @throws RlmError `session_busy` if a job of it is being tried, `run_not_found` */
function removeRun({ database, leases }: Pick<Access, "database" | "leases">, run: string): void {
  const name = nameOfRun(database, run);
  const sessions = database.all("SELECT session FROM jobs WHERE run = ?", run).map((row) => text(row, "session"));
  if (sessions.some((session) => leases.busy(session))) {
    throw runIsBusy(name);
  }
  for (const session of sessions) database.perform(deleteFamily(session));
  for (const table of ["holds", "jobs"]) database.run(`DELETE FROM ${table} WHERE run = ?`, run);
  database.run("DELETE FROM runs WHERE id = ?", run);
}
