import type { JobRow } from "../store/index.ts";
import type { Tried } from "./dispatcher.ts";

/** Before this many lapses nobody looks for their cause. */
const LAPSES_LOOKED_AT = 3;

/**
 * True if a ticket has lapsed often, although not the job but its neighbours or somebody else ended the processes: it becomes a
 * new ticket, without lapses.
 * @param answers recorded answers of the job's session
 */
export function isGettingOn(ticket: Pick<Tried, "id" | "lapses">, answers: number, job: JobRow): boolean {
  return ticket.lapses >= LAPSES_LOOKED_AT && (answers > job.answers || wasGivenBack(ticket, job));
}

/** Its last try put the job back in order: only then was the worker gone that would have said so to the queue. */
function wasGivenBack({ id, lapses }: Pick<Tried, "id" | "lapses">, job: JobRow): boolean {
  return (job.state === "waiting" || job.state === "parked") && job.ticket === id && job.lapses === lapses - 1;
}
