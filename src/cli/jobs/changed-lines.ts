import { amount } from "../../platform/figures.ts";
import type { Counts, JobRow, JobState, RunRow } from "../../store/index.ts";
import { type ChangeAsked, type JobsAsked, jobsLine } from "./jobs-asked.ts";

/** States of jobs that nobody tries, and that may have been begun. */
export const HELD_UP: readonly JobState[] = ["waiting", "parked"];

/** The state of a run before and after a change. */
export interface Changed {
  readonly run: RunRow;
  readonly before: Counts;
  /** Jobs that were begun and have been given up. */
  readonly begun: number;
  readonly now: Counts;
  /** It has other limits. */
  readonly isRaised: boolean;
  /** As they stood before. */
  readonly named: readonly JobRow[];
}

/** Lines that tell people of a change. */
export function changedLines(asked: JobsAsked, verb: ChangeAsked["verb"], changed: Changed): string[] {
  const { run, before, begun, now, named, isRaised } = changed;
  const line = `the line of belay batch that began ${run.name} continues it`;
  // In a folder that line says what the limits are.
  const wait =
    asked.place.isServer || now.waiting === 0 ? [] : [isRaised ? `${line}; name the new limit there too` : line];
  switch (verb) {
    case "cancel": {
      const running = now.cancelling > 0 ? `; ${amount(now.cancelling, "running one")} will be within 10 s` : "";
      return [`${amount(now.cancelled - before.cancelled, "job")} cancelled${running}`, ...asTheyWere(named, FINAL)];
    }
    case "retry":
      return [
        `${amount(before.failed + before.cancelled - now.failed - now.cancelled + begun, "job")} will be tried again`,
        ...asTheyWere(named, asked.own.fresh ? ["done", "running", "cancelling"] : ["done", ...HELD_UP, "running"]),
        ...wait,
      ];
    case "pause":
      return [`${run.name} is paused; resume it: ${jobsLine(asked, "resume", run.name)}`];
    case "resume":
      return [`${run.name} is open, and ${amount(now.waiting, "job waits", "jobs wait")}`, ...wait];
    case "rm":
      return [];
  }
}

const FINAL: readonly JobState[] = ["done", "failed", "cancelled"];

/** Jobs that were named, and that the change does not concern. */
function asTheyWere(named: readonly JobRow[], states: readonly JobState[]): string[] {
  return named.filter(({ state }) => states.includes(state)).map(({ id, state }) => `${id} is ${state}, and stays so`);
}
