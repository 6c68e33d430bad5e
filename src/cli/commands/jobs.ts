import type { Given } from "../flags/arguments.ts";
import { NAMED_FLAGS, OUTPUT_FLAGS } from "../flags/declared.ts";
import { choice, toggle, under } from "../flags/flag.ts";
import { OUT, RUN_LIMITS } from "../flags/runs.ts";
import type { CommandWords } from "./define.ts";

const STATES = ["waiting", "running", "parked", "cancelling", "done", "failed", "cancelled"] as const;

const OWN = {
  ...under("run", {
    state: {
      type: { ...choice(STATES), word: "STATE" },
      help: `only the jobs of RUN in this state: ${STATES.join(", ")}`,
    },
    costs: { type: toggle, help: "print the spending of all runs, by day and by model" },
    watch: { type: toggle, help: "follow RUN to its end, whichever process works on it" },
    fresh: {
      type: toggle,
      help: "for retry: also give up jobs that have started and wait, such as those that another build of Belay started",
    },
    discard: {
      type: toggle,
      help: "for rm: also drop a run whose calls wait for a provider batch, and give up their answers",
    },
  }),
  ...OUT,
};

export type JobsFlags = Given<typeof OWN>;

export const jobs = {
  name: "jobs",
  summary: "list runs and their jobs, and cancel, pause, retry or write them out",
  details: [
    "Without RUN it lists the runs of the store, the newest first; with RUN its jobs, and with ID one job with its input, its result and its error. RUN is a run's name or id, ID the id of a job.",
    "VERB is cancel, retry, pause, resume, out or rm. cancel ends the jobs of a run, or the named ones: a running one within 10 seconds. retry runs failed jobs again, or the named ones, each in a new session. pause starts no further job, and running ones continue; resume undoes that, and offers parked jobs again. A run whose limit is spent continues with a higher one: belay jobs resume RUN --run-max-cost-usd 10.",
    "out writes the results so far, a line for each: belay jobs out RUN --out FILE. rm drops a run with the sessions of its jobs.",
    "In a folder no worker runs by itself: type the line of `belay batch` that started the run again to continue it. belay show RUN/ID shows what a job did, belay fork RUN/ID copies its session, and belay resume RUN/ID finishes its cell.",
    "With RUN the exit code is 0 if all jobs are done, 1 if some failed or were cancelled, 3 if the run is unfinished, and 4 if only providers can make progress. That of out is 0 once all jobs have ended, also if some failed. With ID it is also 3 if the job lacks part of what was asked for.",
  ],
  takes: { usage: "[RUN [ID] | VERB RUN [ID]...]", completes: "anything" },
  own: OWN,
  shared: [
    ...Object.values(RUN_LIMITS).map((limit) => ({
      ...limit,
      help: `of resume: the limit from now on, of ${limit.help}`,
    })),
    { ...OUTPUT_FLAGS.json, help: "print one JSON object" },
    { ...OUTPUT_FLAGS.quiet, needs: ["watch"], help: "for --watch: no progress on stderr" },
    NAMED_FLAGS.store,
  ],
  examples: [{ lines: [["jobs"]] }],
} satisfies CommandWords;
