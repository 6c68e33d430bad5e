import { setTimeout } from "node:timers/promises";
import { RlmError } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { aborted } from "../../platform/signals.ts";
import { readConfig } from "../../settings/index.ts";
import { everyRun, type Jobs, type Store } from "../../store/index.ts";
import type { WorkerFlags } from "../commands/worker.ts";
import type { Arguments } from "../flags/arguments.ts";
import { QUIET } from "../flags/declared.ts";
import { DEFAULT_QUEUE, OF_WORKER } from "../flags/runs.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { settingsIn } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { processClock } from "../render/status-line.ts";
import { withSpansSent } from "../session/sending.ts";
import { configPlaces } from "../session/settings.ts";
import { openStoreIn } from "../store/opened-store.ts";
import { usualConcurrency } from "./asked.ts";
import { countsAndWaits, nextParked } from "./follow.ts";
import { openTally } from "./run-progress.ts";
import { RUN_EXIT } from "./run-state.ts";
import { openDispatcher, runStore, withRun } from "./run-store.ts";
import { startWorking } from "./working.ts";

const HELP = commandLine(["help", "worker"]);

/** `belay worker`: runs jobs of a server's store until it is stopped. Gives the exit code. */
export function workerCommand(args: Arguments, host: Host, own: WorkerFlags): Promise<number> {
  const place = runStore(args);
  if (!place.isServer) {
    const line = commandLine(["worker", "--store", "postgres://USER@HOST/DATABASE"]);
    throw new UsageError("a worker needs a server's store: in a folder belay batch works by itself", line);
  }
  return withRun(args, async (stop, terminal) => {
    const settings = readConfig(settingsIn(args, HELP, OF_WORKER), configPlaces());
    const names = own.queue ?? [DEFAULT_QUEUE];
    const concurrency = Math.max(own.concurrency ?? usualConcurrency(), names.length);
    const tally = openTally(terminal.stderr, processClock, args.get(QUIET));
    await using store = await withSpansSent(await openStoreIn(place.place, host), settings.otlp, tally.say);
    stop.leaving.after(() => store[Symbol.asyncDispose]());
    // If one cannot be opened, those before it are closed.
    await using opened = new AsyncDisposableStack();
    const queues = await Array.fromAsync(names, async (name) => {
      return { name, dispatcher: opened.use(await openDispatcher(place, name, tally.say)) };
    });
    tally.say(`works on ${place.shown}: queue ${names.join(", ")}, ${amount(concurrency, "job")} at once`);
    const working = startWorking({
      store,
      place: place.place,
      queues,
      concurrency,
      settings,
      models: own.models ?? null,
      suspend: stop.signal,
      onProgress: tally.told,
    });
    const idling = { store, queues: names, isBusy: tally.isBusy, signal: stop.signal, waitMs: own.wait };
    const ends = [aborted(stop.signal), working.failed, ...(own.untilIdle ? [untilIdle(idling)] : [])];
    const left = await Promise.race(ends);
    const isLate = !(await working.finish(stop.signal));
    tally.end();
    if (isLate) stop.leaving.leave(stop.exitCode ?? 1);
    return stop.exitCode ?? (left === "providers" ? RUN_EXIT.waits : 0);
  });
}

const LOOK_MS = 1000;

interface Idling {
  readonly store: Pick<Store, "shipping"> & { readonly jobs: Pick<Jobs, "runs" | "counts" | "list"> };
  readonly queues: readonly string[];
  /** True if a job runs here. */
  isBusy(): boolean;
  readonly signal: AbortSignal;
  /** ms in which only providers could go on, after which that is no work any more. Default: none is too long. */
  readonly waitMs?: number | undefined;
}

/** Work that a queue has left: jobs can go on, or wait for a provider alone. */
type Left = "jobs" | "providers" | null;

/** Resolves when no open run of the queues has anything left that is waited for, or the signal aborts. Answers what is left. */
export async function untilIdle({ waitMs = Number.POSITIVE_INFINITY, ...idling }: Idling): Promise<Left> {
  let waited = 0;
  while (!idling.signal.aborted) {
    const left = idling.isBusy() ? "jobs" : await leftIn(idling);
    if (left === null || (left === "providers" && waited >= waitMs)) return left;
    await setTimeout(LOOK_MS, undefined, { signal: idling.signal }).catch(() => {});
    waited = left === "providers" ? waited + LOOK_MS : 0;
  }
  return null;
}

/** A server that does not answer may have work. */
async function leftIn({ store, queues }: Idling): Promise<Left> {
  const { jobs } = store;
  let left: Left = null;
  try {
    for await (const { id, queue, state } of everyRun(jobs)) {
      if (state !== "open" || !queues.includes(queue)) continue;
      const { counts, waits } = await countsAndWaits(store, id);
      const { waiting, running, cancelling, parked } = counts;
      if (waiting + running + cancelling > 0) return "jobs";
      if (parked > 0 && waits.length > 0) left = "providers";
      else if (parked > 0 && (await nextParked(jobs, id)) !== null) return "jobs";
    }
    return left;
  } catch (error) {
    if (error instanceof RlmError && error.code === "store_failed") return "jobs";
    throw error;
  }
}
