import type { Jobs } from "../../jobs/port.ts";
import { damagedJobs, findJob, listJobs, readInput, readJobOfRun, readResult } from "../../sql/jobs.ts";
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
import { begin, changeRun, countLapses, finish, putBack, replaceJobs, runningJobs } from "../../sql/tries.ts";
import type { WireMethods } from "../../thread/methods.ts";
import type { Server } from "../connection.ts";
import { deleteFamily } from "../gc.ts";
import type { Leases } from "../leases.ts";
import { CHANGING, countJobs, dueJobs } from "./jobs.ts";
import { moneyMethods } from "./money.ts";

/** The store's methods for runs and their jobs. Instants are those of the server's clock. */
export function jobMethods(server: Server, leases: Leases): Pick<WireMethods, `jobs.${keyof Jobs}`> {
  return {
    "jobs.open": (run) => server.write((sql) => sql.perform(openRun(run, CHANGING.now))),
    "jobs.add": (run, jobs) => server.write((sql) => sql.perform(addJobs(run, jobs, CHANGING.now))),
    "jobs.known": (run, jobs) => server.perform(knownJobs(run, jobs)),
    "jobs.replace": (run, jobs) => server.write((sql) => sql.perform(replaceJobs(run, jobs, CHANGING))),
    "jobs.run": (nameOrId) => server.perform(findRun(nameOrId)),
    "jobs.runs": (page) => server.perform(listRuns(page)),
    "jobs.damagedRuns": () => server.perform(damagedRuns()),
    "jobs.read": (key) => server.perform(readJobOfRun(key)),
    "jobs.find": (run, id) => server.perform(findJob(run, id)),
    "jobs.list": (run, page) => server.perform(listJobs(run, page)),
    "jobs.damaged": (run) => server.perform(damagedJobs(run)),
    "jobs.input": (key) => server.perform(readInput(key)),
    "jobs.result": (key) => server.perform(readResult(key)),
    "jobs.counts": (run, without) => countJobs(server, run, without),
    "jobs.put": (key, fence, back) => server.perform(putBack(key, fence, back, CHANGING)),
    "jobs.change": (run, change) => server.write((sql) => sql.perform(changeRun(run, change, CHANGING))),
    "jobs.limit": (run, limits) => server.perform(setLimits(run, limits)),
    "jobs.remove": (run) => removeRun(server, run),
    "jobs.due": (page) => dueJobs(server, page),
    "jobs.begin": (key, taking) => server.perform(begin(key, taking, CHANGING)),
    "jobs.finish": (key, fence, outcome) =>
      outcome.dropsImages
        ? server.write((sql) => sql.perform(finish(key, fence, outcome, CHANGING)))
        : server.perform(finish(key, fence, outcome, CHANGING)),
    async "jobs.lapse"(run) {
      const running = await server.perform(runningJobs(run));
      const busy = await leases.busy(running.map(({ session }) => session));
      const lapsed = running.filter(({ session }) => !busy.has(session)).map(({ n }) => n);
      return server.perform(countLapses(run, lapsed, CHANGING));
    },
    ...moneyMethods(server),
  };
}

/** @throws RlmError `session_busy` if a job of it is being tried, `run_not_found` */
function removeRun(server: Server, run: string): Promise<void> {
  return server.write(async (sql) => {
    const { name, sessions } = await sql.perform(sessionsOf(run));
    const busy = "SELECT session FROM leases WHERE session = ANY($1) AND until > clock_timestamp() LIMIT 1";
    if (await sql.get(busy, sessions)) throw runIsBusy(name);
    for (const session of sessions) await deleteFamily(sql, session);
    await sql.perform(dropRun(run));
  });
}
