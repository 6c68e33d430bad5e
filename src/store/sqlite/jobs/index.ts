import type { Discarding } from "../../port.ts";
import { deleteFamily } from "../../sql/gc.ts";
import { atMost } from "../../sql/jobs.ts";
import { refuseRun } from "../../sql/parcels.ts";
import { plannedJobs } from "../../sql/planned.ts";
import { dropRun, runIsBusy, sessionsOf } from "../../sql/runs.ts";
import type { Plan } from "../../sql/sql.ts";
import { type Changing, countLapses, runningJobs } from "../../sql/tries.ts";
import type { SyncJobs } from "../../thread/methods.ts";
import type { Access } from "../session-methods.ts";
import { changingAt, countJobs, dueJobs } from "./jobs.ts";
import { give, hush, reserve, slot } from "./money.ts";

/** The store's methods for runs and their jobs. @param now the clock, ms since the epoch */
export function jobMethods({ database, leases, guard, reading }: Access, now: () => number): SyncJobs {
  const writing = <T>(work: () => T) => guard(() => database.write(work));
  const performed = <T>(plan: (own: Changing) => Plan<T>) => reading(() => database.perform(plan(changingAt(now()))));
  const changed = <T>(plan: (own: Changing) => Plan<T>) => writing(() => database.perform(plan(changingAt(now()))));
  return {
    ...plannedJobs<"at once">({ reads: performed, changes: changed }),
    "jobs.counts": (run, without) => reading(() => countJobs(database, leases, run, without)),
    "jobs.remove": (run, options = {}) => writing(() => removeRun({ database, leases }, run, options)),
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

/** @throws RlmError `session_busy` if a job of it is being tried or waits for a batch, `run_not_found` */
function removeRun(
  { database, leases }: Pick<Access, "database" | "leases">,
  run: string,
  { discard = false }: Discarding,
): void {
  const { name, sessions } = database.perform(sessionsOf(run));
  if (sessions.some((session) => leases.busy(session))) throw runIsBusy(name);
  if (!discard) database.perform(refuseRun(run, name));
  for (const session of sessions) database.perform(deleteFamily(session));
  database.perform(dropRun(run));
}
