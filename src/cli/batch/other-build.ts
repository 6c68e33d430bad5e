import { isOfAnotherBuild } from "../../jobs/index.ts";
import type { Jobs } from "../../store/index.ts";

const PAGE = 1000;

/**
 * How many jobs of a run wait for the build of Belay that began them, if these alone are left; 0: this build can go on with
 * others, which wait too, or no job waits.
 */
export async function leftToOtherBuild(jobs: Pick<Jobs, "list">, run: string): Promise<number> {
  let left = 0;
  for (let from = 0; ; ) {
    const page = await jobs.list(run, { states: ["waiting", "parked"], from, limit: PAGE });
    for (const { state, run_at, engine } of page) {
      // Parked without an instant: it goes on when its run is resumed.
      if (state === "parked" && run_at === null) continue;
      if (!(await isOfAnotherBuild(engine))) return 0;
      left += 1;
    }
    const last = page.at(-1);
    if (!last) return left;
    from = last.n + 1;
  }
}
