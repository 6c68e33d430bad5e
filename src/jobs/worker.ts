import { once } from "node:events";
import { imageFormat, imageProblem, systemClock } from "../../runtime/index.ts";
import { joinSignals } from "../joined-signal.ts";
import { isRecord, parseJson } from "../json.ts";
import { sleep } from "../session/index.ts";
import type { WorkOptions, WorkProgress } from "./api.ts";
import type { Tried, Verdict } from "./dispatcher.ts";
import { giveUpJob } from "./give-up.ts";
import { openHeldContexts } from "./held-contexts.ts";
import { type JobSessionsParts, leaseJob, modelsBy } from "./job-session.ts";
import type { RunSpec } from "./spec.ts";
import { dueJobs } from "./sweep.ts";
import { tryJob } from "./try.ts";
import type { TryParts } from "./try-parts.ts";

/**
 * Tries the jobs of its queues until `signal` or `suspend` aborts; resolves when the last try has returned.
 *
 * @throws RlmError of a dispatcher that cannot work
 */
export async function work(options: WorkOptions): Promise<void> {
  const { queues, concurrency } = options;
  const parts = await tryParts(options);
  using stop = joinSignals(options.signal, options.suspend);
  const share = Math.max(1, Math.floor(concurrency / queues.length));
  const serving = queues.map(({ name, dispatcher }) =>
    Promise.all([
      dispatcher.work({ concurrency: share, signal: stop.signal }, attemptOf(options, parts), (ticket, why) =>
        giveUpJob(parts, ticket, why),
      ),
      sweeping({ name, dispatcher }, options, stop.signal),
    ]),
  );
  await Promise.all(serving);
}

function attemptOf(_options: WorkOptions, parts: TryParts): (tried: Tried) => Promise<Verdict> {
  return (tried) => tryJob(parts, tried);
}

/** Jobs that nobody tries although they are due for so long have lost their tickets, ms. */
const OVERDUE_MS = 600_000;
const MOST_SWEPT = 10_000;

/** Offers what has lost its ticket: at the start, and every 9 to 11 minutes. */
async function sweeping(
  { name, dispatcher }: WorkOptions["queues"][number],
  { store, onProgress }: WorkOptions,
  signal: AbortSignal,
): Promise<void> {
  const stopped = once(signal, "abort");
  while (!signal.aborted) {
    const due = dueJobs(store.jobs, name, { overdueMs: OVERDUE_MS, most: MOST_SWEPT });
    const offered = dispatcher.offer(due).catch((error: unknown) => {
      onProgress?.({ kind: "said", text: `jobs without a ticket could not be offered: ${messageOf(error)}` });
    });
    // A dispatcher that is full takes the rest once there is room.
    await Promise.race([offered, stopped]);
    await sleep(systemClock, OVERDUE_MS + (Math.random() - 0.5) * 120_000, signal);
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** What every try of this process works with. */
async function tryParts(options: Omit<WorkOptions, "queues" | "concurrency" | "signal">): Promise<TryParts> {
  const { store, session: own, suspend, onProgress = () => {} } = options;
  const env = process.env;
  const sessions: JobSessionsParts = {
    ...{ store, own, env, onProgress, clock: systemClock, random: Math.random },
    contextOf: openHeldContexts(store),
    openModels: modelsBy(own, env),
  };
  const engine = JSON.stringify(await imageFormat());
  const told = (progress: WorkProgress) => onProgress(progress);
  return {
    jobs: store.jobs,
    engine: { own: engine, isForeign },
    refusal: (spec) => refusalOf(spec, own.models),
    lease: (found) => leaseJob(sessions, found),
    stopped: suspend,
    now: systemClock.now,
    random: Math.random,
    after: (ms, then) => systemClock.after(ms, then),
    begun: ({ job: { run, n, id, begun_at } }) =>
      told({ kind: "begun", key: { run, n }, id, resumed: begun_at !== null }),
    left: ({ job: { run, n, id } }, state, why) => told({ kind: "left", key: { run, n }, id, state, why }),
    said: (text) => told({ kind: "said", text }),
  };
}

/** A row may be damaged or hostile: what is not the format of an image cannot be read. */
async function isForeign(engine: string): Promise<boolean> {
  const gate: unknown = parseJson(engine);
  const own = await imageFormat();
  if (!isRecord(gate) || !Object.entries(own).every(([name, value]) => typeof gate[name] === typeof value)) return true;
  return (await imageProblem({ gate: { ...own, ...gate } })) !== null;
}

function refusalOf({ model }: RunSpec, allowed: readonly string[] | null): string | null {
  if (model === null || allowed === null || allowed.includes(model)) return null;
  return `the workers of its queue do not ask ${model}`;
}
