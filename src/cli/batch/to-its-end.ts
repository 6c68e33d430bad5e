import { type Dispatcher, openRuns, type Submitted } from "../../runs/index.ts";
import type { Jobs, Store } from "../../store/index.ts";
import { openTopReason } from "../jobs/reasons.ts";
import { processClock } from "../render/status-line.ts";
import { inFlags } from "../render/wording.ts";
import type { ReadyRun } from "./batch.ts";
import { countedRun, type Following, followRun, openPoke } from "./follow.ts";
import { openResults, type Results } from "./results.ts";
import type { openRunProgress } from "./run-progress.ts";
import { type CountedRun, overIn } from "./run-state.ts";
import { startWorking } from "./working.ts";

/** A run that has been submitted. */
export interface OpenRun extends Pick<ReadyRun, "asked" | "terminal" | "stop"> {
  readonly store: Store;
  readonly submitted: Submitted;
  readonly progress: ReturnType<typeof openRunProgress>;
  readonly dispatcher: Dispatcher;
  /** Settles when all tickets have been taken. */
  readonly offering: Promise<void>;
}

/** The outcome of working on a run and following it. */
export type End = Awaited<ReturnType<typeof toItsEnd>>;

/** Works, unless others do, and follows the run until it is over or the user stops it. @throws RlmError */
export async function toItsEnd(open: OpenRun) {
  const { asked, store, progress, stop, terminal } = open;
  const { run, order } = open.submitted;
  const notOffered = open.offering.then(() => new Promise<never>(() => {}));
  // A file that cannot be opened ends the command before anybody waits for it.
  notOffered.catch(() => {});
  const wanted = { run: run.id, order, jobs: store.jobs, unordered: asked.own.unordered === true };
  const results = await openResults(asked.out, wanted, terminal.stdout);
  const failure = new AbortController();
  const signal = AbortSignal.any([stop.signal, failure.signal]);
  const poke = openPoke(signal);
  // Who works here has looked for answers before the command goes.
  let hasLooked = asked.own.noWork === true;
  const onLooked = () => {
    hasLooked = true;
  };
  const working = asked.own.noWork ? null : work(open, poke.now, onLooked, signal);
  const waitMs = () => (hasLooked ? asked.own.wait : undefined);
  try {
    const following = follow(open, results, { wait: poke.wait, waitMs }, signal);
    await Promise.race([following, notOffered, ...(working ? [working.failed] : [])]);
    const isLate = working !== null && !(await working.finish(stop.signal));
    await results.follow();
    return { counted: await countedRun(store, run.id), results, /** Jobs are still being suspended. */ isLate };
  } catch (error) {
    failure.abort();
    await working?.finish(signal).catch(() => {});
    throw error;
  } finally {
    progress.clear();
    await results.close();
  }
}

function work(open: OpenRun, onIdle: () => void, onLooked: () => void, suspend: AbortSignal) {
  const { asked, store, submitted, progress, dispatcher } = open;
  let running = 0;
  return startWorking({
    store,
    place: asked.store.place,
    queues: [{ name: submitted.run.queue, dispatcher }],
    concurrency: asked.concurrency,
    settings: asked.settings,
    models: null,
    suspend,
    resendsDoubtful: asked.own.resendDoubtful === true,
    onLooked,
    onProgress(told) {
      if (told.kind === "said") progress.say(inFlags(told.text));
      if (told.kind === "waiting") progress.waits(told);
      if (told.kind === "begun") running += 1;
      if (told.kind === "left") running -= 1;
      // The run may be over. To look after each job would take long in a large run.
      if (told.kind === "left" && running === 0) onIdle();
    },
  });
}

function follow(open: OpenRun, results: Results, waiting: Pick<Following, "wait" | "waitMs">, signal: AbortSignal) {
  const { asked, store, submitted, progress, dispatcher } = open;
  const { isServer } = asked.store;
  const topReason = openTopReason(store.jobs, submitted.run.id);
  const offerAgain = openOffering(open);
  const tellCancelled = openCancelling(store.jobs, submitted.run.id, dispatcher);
  let over = -1;
  return followRun({
    store,
    run: submitted.run.id,
    clock: processClock,
    ...waiting,
    signal,
    async look(now) {
      progress.show({ ...now, reason: await topReason(now.counts.failed) });
      if (overIn(now.counts) !== over) await results.follow();
      over = overIn(now.counts);
      if (isServer) return;
      if (now.counts.cancelling > 0) await tellCancelled();
      offerAgain(now);
    },
    ...(isServer ? { unreachable: progress.unreachable } : { isAlone: true }),
  });
}

/** `belay jobs retry` and `resume` are other processes too: what they let wait has no ticket here. */
function openOffering({ asked, store, submitted, dispatcher, offering }: OpenRun): (now: CountedRun) => void {
  let isOffering = true;
  async function until(offered: Promise<void>): Promise<void> {
    await offered.catch(() => {});
    isOffering = false;
  }
  void until(offering);
  return ({ run, counts }) => {
    const { waiting, running, cancelling } = counts;
    if (isOffering || run.state === "paused" || waiting === 0 || running + cancelling >= asked.concurrency) return;
    isOffering = true;
    void until(openRuns(store).offer(submitted.run, dispatcher));
  };
}

/** `belay jobs cancel` is another process, and reaches the tries of this one through the rows alone. */
function openCancelling(jobs: Pick<Jobs, "list">, run: string, dispatcher: Dispatcher): () => Promise<void> {
  const told = new Set<string>();
  return async () => {
    const rows = await jobs.list(run, { states: ["cancelling"], from: 0, limit: 1000 });
    const tried = rows.flatMap(({ n, rank, ticket: id }) => (id === null ? [] : [{ ticket: { run, n, rank }, id }]));
    const fresh = tried.filter(({ ticket, id }) => !told.has(`${ticket.n} ${id}`));
    for (const { ticket, id } of fresh) told.add(`${ticket.n} ${id}`);
    await dispatcher.nudge(fresh);
  };
}
