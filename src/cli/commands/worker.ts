import type { Given } from "../flags/arguments.ts";
import { NAMED_FLAGS, OUTPUT_FLAGS, WAIT_FLAGS } from "../flags/declared.ts";
import { count, flags, toggle, words } from "../flags/flag.ts";
import { DEFAULT_QUEUE, OF_WORKER, queueIn } from "../flags/runs.ts";
import type { CommandWords } from "./define.ts";

const OWN = flags({
  queue: {
    type: words("NAME", "a name of a queue", (text) => queueIn(text) !== undefined),
    help: `a queue that it serves (default ${DEFAULT_QUEUE})`,
  },
  concurrency: {
    type: count(10_000),
    help: "jobs at once, over all queues (default: two for each core, at most one for each 64 MB of memory)",
  },
  models: {
    type: words("PROVIDER/ID", "models such as anthropic/claude-sonnet-5", (text) => /^[^/\s]+\/\S+$/.test(text)),
    help: "the only models that jobs may ask here; a run that asks another one is paused (default: each run's own model, and those of its provider that cells name; a run without its key is paused too)",
  },
  untilIdle: { type: toggle, help: "exit when no run of its queues has work left" },
  wait: {
    ...WAIT_FLAGS.wait,
    needs: ["until-idle"],
    help: "with --until-idle: also exit after TIME in which only providers could make progress (default: wait for their answers)",
  },
});

export type WorkerFlags = Given<typeof OWN>;

export const worker = {
  name: "worker",
  summary: "run jobs of a server's store, together with any number of other workers",
  details: [
    "It fetches jobs that `belay batch` has submitted with the same --store postgres://USER@HOST/DATABASE, and runs them until it is stopped. Each job runs in one worker at a time. If a worker is killed or its host is lost, another one resumes its jobs within a minute, at their `await`.",
    "Anyone who can write to the database can make workers spend money. So keys, addresses, models and dollars come from the flags, variables and files of the worker's own host: a run names only a model. --max-cost-usd limits each job, and refuses models with an unknown price. It does not limit the number of jobs: only the provider's limit for the key does that.",
    "Ctrl-C suspends its jobs and gives them back at once. Put the password into ~/.pgpass or PGPASSWORD. docs/batch.md has a compose.yaml.",
  ],
  own: OWN,
  shared: [...OF_WORKER, NAMED_FLAGS.store, OUTPUT_FLAGS.quiet],
  examples: [{ lines: [["help", "worker"]] }],
} satisfies CommandWords;
