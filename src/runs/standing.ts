import type { JobOfRun } from "../store/index.ts";
import type { Verdict } from "./dispatcher.ts";

/** Time that a ticket waits if another build has begun its job, ms: a worker of that build may fetch it. */
const OTHER_BUILD_MS = 60_000;

/**
 * The row's answer before anything is done: the verdict, or null if the job is to be tried.
 * @param isForeign another build has begun it, whose images this one cannot read
 */
export function standingOf(found: JobOfRun | null, now: number, isForeign: boolean): Verdict | null {
  if (!found) return "over";
  const { job, run } = found;
  switch (job.state) {
    case "done":
    case "failed":
    case "cancelled":
      return "over";
    case "cancelling":
      // Nobody begins a job of a paused run; this one is only to be ended.
      return null;
    case "parked":
      // Its run is to be resumed; one that waits for its provider goes on by itself.
      if (job.run_at === null) return "over";
      break;
    case "waiting":
    case "running":
  }
  if (run.state === "paused") return "over";
  // The store lets it wait for a try once there is room. A ticket that waits for its instant would keep it from being offered then.
  if (job.state === "parked" && job.why === "held" && (job.run_at ?? 0) > now) return "over";
  if (job.run_at !== null && job.run_at > now) return { againMs: job.run_at - now };
  if (isForeign) return { againMs: OTHER_BUILD_MS };
  return null;
}
