import { imageFormat, imageProblem, RlmError, systemClock } from "../../runtime/index.ts";
import type { Models } from "../models/index.ts";
import { isRecord, parseJson } from "../platform/json.ts";
import { openAgentPlaces } from "../session/index.ts";
import type { JobKey } from "../store/index.ts";
import type { WorkerSession, WorkOptions } from "./api.ts";
import { openTroubles, reasonOf } from "./failures.ts";
import { type JobSessionsParts, leaseJob, modelsBy, openHeldContexts } from "./job-session.ts";
import { isLent } from "./lent-agents.ts";
import { checkModel, type RunSpec } from "./spec.ts";
import type { TryParts } from "./try-parts.ts";

/** Parts that every try of this process works with. */
export async function processParts(
  options: Pick<WorkOptions, "store" | "session" | "suspend" | "onProgress" | "clock" | "resendsDoubtful">,
): Promise<TryParts> {
  const { store, session: own, suspend, onProgress = () => {}, clock = systemClock } = options;
  const { resendsDoubtful = false } = options;
  const env = process.env;
  const troubles = openTroubles();
  const sessions: JobSessionsParts = {
    store,
    own,
    env,
    onProgress,
    clock,
    random: Math.random,
    troubles,
    resendsDoubtful,
    placeOf: openAgentPlaces(own.lent?.commands ?? {}),
    contextOf: openHeldContexts(store),
    openModels: modelsBy(own, env),
  };
  const runsOfOthers = new Set<string>();
  const busy = openBusyJobs((text) => onProgress({ kind: "said", text }));
  return {
    jobs: store.jobs,
    engine: { own: ownEngine(), isForeign: isOfAnotherBuild },
    foreign({ run: { id, name } }) {
      if (runsOfOthers.has(id)) return;
      runsOfOthers.add(id);
      const text = `jobs of ${name} were begun by another build of Belay, and wait for a worker of that one`;
      onProgress({ kind: "said", text });
    },
    refusal: openRefusals(own, sessions.openModels),
    troubles,
    async lease(found, taking) {
      const lease = await leaseJob(sessions, found, taking);
      busy.free(found.job);
      return lease;
    },
    busyMs: busy.waitMs,
    stopped: suspend,
    now: clock.now,
    random: Math.random,
    after: (ms, then) => clock.after(ms, then),
    tell: onProgress,
  };
}

/** A job whose session another process has open is tried again after this, ms, and then after twice as long each time. */
const BUSY_MS = 500;
export const MOST_BUSY_MS = 15_000;

/**
 * Jobs whose sessions other processes have open. A process that was just killed, or that leaves the
 * job, lets go within an instant; another one keeps it for as long as it works.
 *
 * @param tell says a sentence to people
 */
export function openBusyJobs(tell: (text: string) => void): {
  readonly waitMs: TryParts["busyMs"];
  free(job: JobKey): void;
} {
  const times = new Map<string, number>();
  const warned = new Set<string>();
  const keyOf = ({ run, n }: JobKey) => `${run} ${n}`;
  return {
    waitMs(job, { message }) {
      const before = times.get(keyOf(job)) ?? 0;
      times.set(keyOf(job), before + 1);
      if (before > 0 && !warned.has(job.run)) {
        warned.add(job.run);
        tell(`jobs of this run wait for another process, and continue here once it has ended: ${message}`);
      }
      return Math.min(BUSY_MS * 2 ** before, MOST_BUSY_MS);
    },
    free: (job) => void times.delete(keyOf(job)),
  };
}

/** Why jobs of a run are not tried here: an agent is not lent, the model is not allowed, or there is no key for it. */
function openRefusals({ models: allowed, lent }: WorkerSession, openModels: JobSessionsParts["openModels"]) {
  /** One for each model: what it has found is not looked for again. */
  const opened = new Map<string, Models>();
  return (spec: RunSpec): string | null => {
    const { model, agents = [] } = spec;
    const missing = agents.find((name) => !isLent(lent, spec, name));
    if (missing !== undefined) return `only the command that began it lends its jobs the agent ${missing}`;
    if (model !== null && allowed !== null && !allowed.includes(model)) {
      return `the workers of its queue do not ask ${model}`;
    }
    const models = opened.get(model ?? "") ?? openModels(model);
    opened.set(model ?? "", models);
    try {
      checkModel(spec, models);
      return null;
    } catch (error) {
      if (error instanceof RlmError) return reasonOf(error);
      throw error;
    }
  };
}

/** The value of `jobs.engine` for this build. */
function ownEngine(): string {
  return JSON.stringify(imageFormat());
}

/**
 * True if this build cannot read the images of the one that has begun a job.
 * A row may be damaged or hostile: what is not the format of an image cannot be read.
 */
export function isOfAnotherBuild(engine: string | null): boolean {
  if (engine === null) return false;
  const gate: unknown = parseJson(engine);
  const own = imageFormat();
  if (!isRecord(gate) || !Object.entries(own).every(([name, value]) => typeof gate[name] === typeof value)) return true;
  return imageProblem({ gate: { ...own, ...gate } }) !== null;
}
