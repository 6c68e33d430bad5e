import { amount } from "../../platform/figures.ts";
import { aborted } from "../../platform/signals.ts";
import { openDispatcher, startWorking, untilIdle, usualConcurrency } from "../../runs/index.ts";
import { readConfig } from "../../settings/index.ts";
import type { Host } from "../commands/define.ts";
import type { WorkerFlags } from "../commands/worker.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { DEFAULT_QUEUE, OF_WORKER } from "../flags/runs.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { settingsIn } from "../flags/values.ts";
import { processClock } from "../render/status-line.ts";
import { configPlaces } from "../session/settings.ts";
import { openSendingStore } from "../store/open-store.ts";
import { RUN_EXIT, runStore, withRun } from "./run-command.ts";
import { openTally } from "./run-progress.ts";
import { workerSession } from "./run-request.ts";

const HELP = commandLine(["help", "worker"]);

/** `belay worker`: runs jobs of a server's store until it is stopped. */
export function workerCommand(args: Arguments, host: Host, own: WorkerFlags): Promise<number> {
  const place = runStore(args);
  if (!place.isServer) {
    const line = commandLine(["worker", "--store", "postgres://USER@HOST/DATABASE"]);
    throw new UsageError("a worker needs a server's store: in a folder belay batch works by itself", line);
  }
  return withRun(args, "worker", async (stop, terminal) => {
    const settings = readConfig(settingsIn(args, HELP, OF_WORKER), configPlaces());
    const names = own.queue ?? [DEFAULT_QUEUE];
    const concurrency = Math.max(own.concurrency ?? usualConcurrency(), names.length);
    const tally = openTally(terminal.stderr, processClock, args.get(OUTPUT_FLAGS.quiet));
    await using store = await openSendingStore(place.place, host, { otlp: settings.otlp, say: tally.say });
    stop.leaving.after(() => store[Symbol.asyncDispose]());
    // If one cannot be opened, those before it are closed.
    await using opened = new AsyncDisposableStack();
    const queues = await Array.fromAsync(names, async (name) => {
      return { name, dispatcher: opened.use(await openDispatcher(place.place, name, tally.say)) };
    });
    tally.say(`works on ${place.shown}: queue ${names.join(", ")}, ${amount(concurrency, "job")} at once`);
    let hasLooked = false;
    const working = startWorking({
      store,
      place: place.place,
      queues,
      concurrency,
      session: workerSession(settings, own.models ?? null),
      suspend: stop.signal,
      onProgress: tally.told,
      onLooked() {
        hasLooked = true;
      },
    });
    const looks = { isBusy: tally.isBusy, hasLooked: () => hasLooked };
    const idling = { store, queues: names, ...looks, signal: stop.signal, waitMs: own.wait };
    const ends = [aborted(stop.signal), working.failed, ...(own.untilIdle ? [untilIdle(idling)] : [])];
    const left = await Promise.race(ends);
    const isLate = !(await working.finish(stop.signal));
    tally.end();
    if (isLate) stop.leaving.leave(stop.exitCode ?? 1);
    return stop.exitCode ?? (left === "providers" ? RUN_EXIT.waits : 0);
  });
}
