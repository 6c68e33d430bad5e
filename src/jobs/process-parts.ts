import { systemClock } from "../../runtime/index.ts";
import type { WorkOptions, WorkProgress } from "./api.ts";
import { isOfAnotherBuild, ownEngine } from "./build.ts";
import { openHeldContexts } from "./held-contexts.ts";
import { type JobSessionsParts, leaseJob, modelsBy } from "./job-session.ts";
import type { RunSpec } from "./spec.ts";
import type { TryParts } from "./try-parts.ts";

/** What every try of this process works with. */
export async function processParts(
  options: Pick<WorkOptions, "store" | "session" | "suspend" | "onProgress" | "clock">,
): Promise<TryParts> {
  const { store, session: own, suspend, onProgress = () => {}, clock = systemClock } = options;
  const env = process.env;
  const sessions: JobSessionsParts = {
    ...{ store, own, env, onProgress, clock, random: Math.random },
    contextOf: openHeldContexts(store),
    openModels: modelsBy(own, env),
  };
  const told = (progress: WorkProgress) => onProgress(progress);
  const runsOfOthers = new Set<string>();
  return {
    jobs: store.jobs,
    engine: { own: await ownEngine(), isForeign: isOfAnotherBuild },
    foreign({ run: { id, name } }) {
      if (runsOfOthers.has(id)) return;
      runsOfOthers.add(id);
      told({
        kind: "said",
        text: `jobs of ${name} were begun by another build of Belay, and wait for a worker of that one`,
      });
    },
    refusal: (spec) => refusalOf(spec, own.models),
    lease: (found) => leaseJob(sessions, found),
    stopped: suspend,
    now: clock.now,
    random: Math.random,
    after: (ms, then) => clock.after(ms, then),
    begun: ({ job: { run, n, id, begun_at } }) =>
      told({ kind: "begun", key: { run, n }, id, resumed: begun_at !== null }),
    left: ({ job: { run, n, id } }, state, why) => told({ kind: "left", key: { run, n }, id, state, why }),
    said: (text) => told({ kind: "said", text }),
  };
}

function refusalOf({ model }: RunSpec, allowed: readonly string[] | null): string | null {
  if (model === null || allowed === null || allowed.includes(model)) return null;
  return `the workers of its queue do not ask ${model}`;
}
