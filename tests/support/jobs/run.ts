import { expect, onTestFinished } from "vitest";
import type { Clock, Json } from "../../../runtime/index.ts";
import { countsAndWaits } from "../../../src/runs/follow.ts";
import {
  type Dispatcher,
  newSpec,
  openInProcess,
  runsIn,
  type Submitted,
  type WorkerSession,
  type WorkProgress,
  work,
} from "../../../src/runs/index.ts";
import { type JobRow, type RunLimits, type RunRow, type Store, shareStore } from "../../../src/store/index.ts";
import { type ModelScript, type ModelServer, startModelServer } from "../model-server.ts";

const UNLIMITED: RunLimits = { nanodollars: null, tokens: null, sub_calls: null };

export interface RunSceneOptions {
  readonly spec?: Partial<Parameters<typeof newSpec>[0]>;
  readonly script?: ModelScript;
  readonly limits?: Partial<RunLimits>;
  /** null: in memory. */
  readonly folder?: string | null;
  readonly own?: Partial<WorkerSession>;
  /** Hands out the tickets of this queue. Default: a dispatcher of this process, for each worker. */
  readonly openDispatcher?: (queue: string) => Promise<Dispatcher>;
  /** Stands between the worker and the store. */
  readonly around?: (store: Store) => Store;
}

export interface Life {
  readonly run: RunRow;
  /** Called with what the worker tells; `stop` suspends it, as Ctrl-C does. */
  readonly on?: (progress: WorkProgress, stop: () => void, dispatcher: Dispatcher) => void;
  readonly own?: Partial<WorkerSession>;
  readonly concurrency?: number;
  /** Where the store is, for processes of jobs that lapsed. Default: all are tried in this one. */
  readonly place?: string | null;
  readonly childEntry?: URL;
  readonly clock?: Clock;
  /** Default: true. Else what the worker finds by itself is all that it tries. */
  readonly offers?: boolean;
  /** It also works on until no job waits for a provider batch. Default: false. */
  readonly collects?: boolean;
}

export interface RunScene {
  readonly store: Store;
  readonly server: ModelServer;
  readonly runs: ReturnType<typeof runsIn>;
  submit(inputs: readonly Json[], context?: string | null): Promise<Submitted>;
  /** A worker of its own until no job waits for a try, or `stop` is called. Answers what it told. */
  works(life: Life): Promise<readonly WorkProgress[]>;
  jobs(run: RunRow): Promise<readonly JobRow[]>;
  results(run: RunRow): Promise<readonly unknown[]>;
}

/** For a life that ends like that of a worker who is stopped: once calls are out, and this holds. */
export function stopOnce(holds: () => boolean): NonNullable<Life["on"]> {
  return (progress, stop) => {
    if (progress.kind !== "calls") return;
    void expect
      .poll(holds)
      .toBe(true)
      .then(stop, () => {});
  };
}

/** A store with other methods of jobs. */
export function withJobs(kept: Store, jobs: Partial<Store["jobs"]>): Store {
  return { ...kept, jobs: { ...kept.jobs, ...jobs } };
}

let scenes = 0;

/** A run of jobs over a store, with a server that answers their calls. It ends with the test. */
export async function runScene(source: string, options: RunSceneOptions = {}): Promise<RunScene> {
  const { spec = {}, script = () => ({ text: "yes" }), limits = {}, folder = null, own = {}, around } = options;
  const { openDispatcher = async () => openInProcess() } = options;
  const kept = await shareStore(folder);
  const store = around ? around(kept) : kept;
  const server = await startModelServer(script);
  onTestFinished(async () => {
    await server.close();
    await kept[Symbol.asyncDispose]();
  });
  const runs = runsIn(store);
  // Stores in memory are shared: each scene has a queue of its own.
  const queue = `queue-${++scenes}`;
  const wanted = newSpec({ script: { name: "s.js", source }, model: "local/m", context: "none", ...spec });
  const jobs = (run: RunRow) => store.jobs.list(run.id, { from: 0, limit: 1000 });
  return {
    ...{ store, server, runs, jobs },
    submit: (inputs, context = null) =>
      runs.submit(
        { name: `run-of-${queue}`, queue, share: 1, spec: wanted, limits: { ...UNLIMITED, ...limits } },
        inputs.map((input, n) => ({ id: `job-${n}`, input: JSON.stringify(input), context })),
      ),
    async works({
      run,
      on = () => {},
      concurrency = 4,
      own: more = {},
      place = null,
      offers = true,
      collects = false,
      ...parts
    }) {
      const told: WorkProgress[] = [];
      const over = new AbortController();
      const suspend = new AbortController();
      await using dispatcher = await openDispatcher(run.queue);
      let looked = Promise.resolve();
      const look = () => {
        looked = looked.then(lookNow);
        // A test that has failed leaves its work to be ended.
        looked.catch(() => over.abort());
      };
      const lookNow = async () => {
        if (over.signal.aborted) return;
        const { counts, waits } = await countsAndWaits(store, run.id);
        const { waiting, running, cancelling } = counts;
        if (collects && waits.length > 0) return;
        const state = (await store.jobs.run(run.id))?.state;
        // The store lets these go on, or pauses the run.
        const parked = await store.jobs.list(run.id, { states: ["parked"], from: 0, limit: 1000 });
        if (collects && state === "open" && parked.some(({ why }) => why === "held")) return;
        if (running + cancelling === 0 && (waiting === 0 || state === "paused")) over.abort();
      };
      const working = work({
        ...{ store, place, queues: [{ name: run.queue, dispatcher }], concurrency },
        ...{ signal: over.signal, suspend: suspend.signal, ...parts },
        session: { models: null, baseUrl: server.url, ...own, ...more },
        onProgress(progress) {
          told.push(progress);
          on(progress, () => suspend.abort(), dispatcher);
          if (progress.kind === "left" || progress.kind === "said") look();
        },
      });
      if (offers) await runs.offer(run, dispatcher);
      // All may be over already, or be ended by another worker.
      const looking = setInterval(look, 100);
      await working.finally(() => clearInterval(looking));
      await looked;
      return told;
    },
    results: async (run) =>
      Promise.all(
        (await jobs(run)).map(async ({ n }) => JSON.parse((await store.jobs.result({ run: run.id, n })) ?? "null")),
      ),
  };
}
