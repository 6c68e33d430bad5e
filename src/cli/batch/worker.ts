import { setTimeout } from "node:timers/promises";
import { readConfig } from "../../config/index.ts";
import { RlmError } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { aborted } from "../../platform/signals.ts";
import type { Jobs } from "../../store/index.ts";
import type { WorkerFlags } from "../commands/worker.ts";
import type { Arguments } from "../flags/arguments.ts";
import { QUIET } from "../flags/declared.ts";
import { DEFAULT_QUEUE, OF_WORKER } from "../flags/runs.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { settingsIn } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { reportFailure } from "../render/failure.ts";
import { processClock } from "../render/status-line.ts";
import { processTerminal, type Terminal } from "../render/terminal.ts";
import { configPlaces } from "../session/settings.ts";
import { type Stop, untilStopped } from "../stop.ts";
import { usualConcurrency } from "./asked.ts";
import { willGoOn } from "./follow.ts";
import { openTally } from "./run-progress.ts";
import { type OpenDispatcher, openDispatcher, openRunStore, type RunStore, runStore } from "./run-store.ts";
import { startWorking } from "./working.ts";

const HELP = commandLine(["help", "worker"]);

/** `belay worker`: runs jobs of a server's store until it is stopped. Gives the exit code. */
export function workerCommand(args: Arguments, host: Host, own: WorkerFlags): Promise<number> {
  return untilStopped(async (stop) => {
    const terminal = processTerminal(stop.close);
    const place = runStore(args);
    if (!place.isServer) {
      throw new UsageError(
        "a worker needs a server's store: in a folder belay batch works by itself",
        commandLine(["worker", "--store", "postgres://USER@HOST/DATABASE"]),
      );
    }
    try {
      return await workUntil({ args, host, own, terminal, stop, place });
    } catch (error) {
      return reportFailure(error, terminal, false);
    }
  });
}

interface WorkerAsked {
  readonly args: Arguments;
  readonly host: Host;
  readonly own: WorkerFlags;
  readonly terminal: Terminal;
  readonly stop: Stop;
  readonly place: RunStore;
}

async function workUntil({ args, host, own, terminal, stop, place }: WorkerAsked): Promise<number> {
  const settings = readConfig(settingsIn(args, HELP, OF_WORKER), configPlaces());
  const names = own.queue ?? [DEFAULT_QUEUE];
  const concurrency = Math.max(own.concurrency ?? usualConcurrency(), names.length);
  await using store = await openRunStore(place, host);
  stop.leaving.after(() => store[Symbol.asyncDispose]());
  const tally = openTally(terminal.stderr, processClock, args.get(QUIET));
  await using queues = await openAll(names, (name) => openDispatcher(place, name, tally.say));
  tally.say(`works on ${place.shown}: queue ${names.join(", ")}, ${amount(concurrency, "job")} at once`);
  const working = startWorking({
    store,
    place: place.place,
    queues: queues.all,
    concurrency,
    settings,
    models: own.models ?? null,
    suspend: stop.signal,
    onProgress: tally.told,
  });
  const idling = { jobs: store.jobs, queues: names, isBusy: tally.isBusy, signal: stop.signal };
  await Promise.race([aborted(stop.signal), working.failed, ...(own.untilIdle ? [untilIdle(idling)] : [])]);
  const isLate = !(await working.finish(stop.signal));
  tally.end();
  if (isLate) stop.leaving.leave(stop.exitCode ?? 1);
  return stop.exitCode ?? 0;
}

interface Queues extends AsyncDisposable {
  readonly all: readonly OpenDispatcher[];
}

/** Opens one after the other; if one fails, those before it are closed. */
async function openAll(
  names: readonly string[],
  open: (name: string) => Promise<OpenDispatcher> | OpenDispatcher,
): Promise<Queues> {
  await using opened = new AsyncDisposableStack();
  const all: OpenDispatcher[] = [];
  for (const name of names) all.push(opened.use(await open(name)));
  const kept = opened.move();
  return { all, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const LOOK_MS = 1000;
const PAGE = 1000;

interface Idling {
  readonly jobs: Pick<Jobs, "runs" | "counts" | "list">;
  readonly queues: readonly string[];
  /** True if a job runs here. */
  isBusy(): boolean;
  readonly signal: AbortSignal;
}

/** Resolves when no open run of the queues has a job that waits or runs, or the signal aborts. */
export async function untilIdle(idling: Idling): Promise<void> {
  while (!idling.signal.aborted) {
    if (!idling.isBusy() && !(await hasWork(idling))) return;
    await setTimeout(LOOK_MS, undefined, { signal: idling.signal }).catch(() => {});
  }
}

/** A server that does not answer may have work. */
async function hasWork({ jobs, queues }: Idling): Promise<boolean> {
  try {
    for (let after: string | null = null; ; ) {
      const page: Awaited<ReturnType<Jobs["runs"]>> = await jobs.runs({ after, limit: PAGE });
      for (const { id, queue, state } of page) {
        if (state !== "open" || !queues.includes(queue)) continue;
        const { waiting, running, cancelling, parked } = await jobs.counts(id);
        if (waiting + running + cancelling > 0 || (parked > 0 && (await willGoOn(jobs, id)))) return true;
      }
      after = page.at(-1)?.id ?? null;
      if (page.length < PAGE) return false;
    }
  } catch (error) {
    if (error instanceof RlmError && error.code === "store_failed") return true;
    throw error;
  }
}
