import type { Given } from "../flags/arguments.ts";
import { JSON_OUTPUT, QUIET, STORE } from "../flags/declared.ts";
import { choice, toggle, under } from "../flags/flag.ts";
import { OUT, RUN_LIMITS } from "../flags/runs.ts";
import { defineCommand } from "./define.ts";

const STATES = ["waiting", "running", "parked", "cancelling", "done", "failed", "cancelled"] as const;

const OWN = {
  ...under("run", {
    state: {
      type: { ...choice(STATES), word: "STATE" },
      help: `only the jobs of RUN in this state: ${STATES.join(", ")}`,
    },
    costs: { type: toggle, help: "what all runs have spent, by day and by the model of the run" },
    watch: { type: toggle, help: "follow RUN until it is over, whoever works on it" },
    fresh: {
      type: toggle,
      help: "of retry: also give up jobs that were begun and wait, such as those that another build of Belay began",
    },
    discard: {
      type: toggle,
      help: "of rm: also a run whose calls wait for a provider's batch: their answers are given up",
    },
  }),
  ...OUT,
};

export type JobsFlags = Given<typeof OWN>;

export const jobs = defineCommand({
  name: "jobs",
  summary: "list runs and their jobs, and cancel, pause, retry or write them out",
  details: [
    "Without RUN it lists the runs of the store, the newest first; with RUN its jobs, and with ID one job with its input, its result and its error. RUN is a run's name or id, ID the id of a job.",
    "VERB is cancel, retry, pause, resume, out or rm. cancel ends the jobs of a run, or those that are named: a running one within 10 seconds. retry tries those again that have failed, or those that are named, each in a session of its own. pause begins no further job, and what runs goes on; resume takes that back, and makes parked jobs wait again. A run whose limit is spent goes on with a higher one: belay jobs resume RUN --run-max-cost-usd 10.",
    "out writes the results that there are, a line for each: belay jobs out RUN --out FILE. rm drops a run with the sessions of its jobs.",
    "In a folder nobody works by itself: the line of `belay batch` that began the run continues it. belay show RUN/ID shows what a job did, belay fork RUN/ID copies its session, and belay resume RUN/ID finishes its cell.",
    "With RUN the exit code is 0 if all jobs are done, 1 if some failed or were cancelled, 3 if the run is not over, and 4 if only providers can go on with it. That of out is 0 once all jobs are over, also if some failed. With ID it is 3 too if the job lacks a part of what was asked for.",
  ],
  takes: { usage: "[RUN [ID] | VERB RUN [ID]...]", completes: "anything" },
  own: OWN,
  shared: [
    ...Object.values(RUN_LIMITS).map((limit) => ({
      ...limit,
      help: `of resume: the limit from now on, of ${limit.help}`,
    })),
    { ...JSON_OUTPUT, help: "print one JSON object" },
    { ...QUIET, needs: ["watch"], help: "of --watch: no progress on stderr" },
    STORE,
  ],
  example: "belay jobs",
  run: async () => (await import("../jobs/jobs.ts")).jobsCommand,
});
