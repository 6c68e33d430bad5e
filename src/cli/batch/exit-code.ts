import type { Counts } from "../../store/index.ts";
import { jobsIn } from "./progress-line.ts";

/** Exit codes of a run: all is done; some jobs failed or were cancelled; it is not over, such as paused or parked. */
export const RUN_EXIT = { done: 0, failed: 1, notOver: 3 } as const;

export function runExitCode(counts: Counts): number {
  const { done, failed, cancelled } = counts;
  if (done + failed + cancelled < jobsIn(counts)) return RUN_EXIT.notOver;
  return failed + cancelled > 0 ? RUN_EXIT.failed : RUN_EXIT.done;
}
