import type { Given } from "../flags/arguments.ts";
import { QUIET, STORE, WAIT } from "../flags/declared.ts";
import { count, flags, toggle, words } from "../flags/flag.ts";
import { DEFAULT_QUEUE, OF_WORKER, queueIn } from "../flags/runs.ts";
import { defineCommand } from "./define.ts";

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
  untilIdle: { type: toggle, help: "end when no run of its queues has anything left to do" },
  wait: {
    ...WAIT,
    needs: ["until-idle"],
    help: "with --until-idle: end also after TIME in which only providers could go on (default: wait for their answers)",
  },
});

export type WorkerFlags = Given<typeof OWN>;

export const worker = defineCommand({
  name: "worker",
  summary: "run jobs of a server's store, beside as many other workers as one likes",
  details: [
    "It fetches jobs that `belay batch` has submitted with the same --store postgres://USER@HOST/DATABASE, and runs them until it is stopped. Each job runs in one worker at a time. If a worker is killed or loses its host, another one goes on with its jobs within a minute, at their `await`.",
    "Whoever can write to the database can make workers spend. So keys, addresses, models and dollars come from the flags, variables and files of the worker's own host: a run names a model and nothing else. --max-cost-usd limits each job, and refuses models whose price is not known. It does not limit how many jobs somebody submits: the provider's own limit for the key does that.",
    "Ctrl-C suspends its jobs and gives them back at once. Put the password into ~/.pgpass or PGPASSWORD. docs/batch.md has a compose.yaml.",
  ],
  own: OWN,
  shared: [...OF_WORKER, STORE, QUIET],
  example: "belay help worker",
  run: async () => (await import("../batch/worker.ts")).workerCommand,
});
