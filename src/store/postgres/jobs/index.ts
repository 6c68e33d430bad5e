import type { Jobs } from "../../jobs/port.ts";
import type { Discarding } from "../../port.ts";
import { refuseRun } from "../../sql/parcels.ts";
import { plannedJobs } from "../../sql/planned.ts";
import { dropRun, runIsBusy, sessionsOf } from "../../sql/runs.ts";
import { countLapses, runningJobs } from "../../sql/tries.ts";
import type { WireMethods } from "../../thread/methods.ts";
import type { Server } from "../connection.ts";
import { deleteFamily } from "../gc.ts";
import type { Leases } from "../leases.ts";
import { CHANGING, countJobs, dueJobs } from "./jobs.ts";
import { moneyMethods } from "./money.ts";

/** The store's methods for runs and their jobs. Instants are those of the server's clock. */
export function jobMethods(server: Server, leases: Leases): Pick<WireMethods, `jobs.${keyof Jobs}`> {
  return {
    ...plannedJobs<"later">({
      reads: (plan) => server.perform(plan(CHANGING)),
      changes: (plan) => server.write((sql) => sql.perform(plan(CHANGING))),
    }),
    "jobs.counts": (run, without) => countJobs(server, run, without),
    "jobs.remove": (run, options = {}) => removeRun(server, run, options),
    "jobs.due": (page) => dueJobs(server, page),
    async "jobs.lapse"(run) {
      const running = await server.perform(runningJobs(run));
      const busy = await leases.busy(running.map(({ session }) => session));
      const lapsed = running.filter(({ session }) => !busy.has(session)).map(({ n }) => n);
      return server.perform(countLapses(run, lapsed, CHANGING));
    },
    ...moneyMethods(server),
  };
}

/** @throws RlmError `session_busy` if a job of it is being tried or waits for a batch, `run_not_found` */
function removeRun(server: Server, run: string, { discard = false }: Discarding): Promise<void> {
  return server.write(async (sql) => {
    const { name, sessions } = await sql.perform(sessionsOf(run));
    const busy = "SELECT session FROM leases WHERE session = ANY($1) AND until > clock_timestamp() LIMIT 1";
    if (await sql.get(busy, sessions)) throw runIsBusy(name);
    if (!discard) await sql.perform(refuseRun(run, name));
    for (const session of sessions) await deleteFamily(sql, session);
    await sql.perform(dropRun(run));
  });
}
