import type { Step, Store } from "../../../src/store/index.ts";

/** What a submitter or a try has done. Each lies between two others: docs/order-of-writes.md has their order. */
export type KillStep = (typeof KILL_STEPS)[number];

/** Writes of a try. */
export const TRY_STEPS = ["session", "begin", "loaded", "reserve", "give", "answer", "cell", "finish"] as const;

/**
 * Writes of a process that sends requests by batches. `kept`: a request; `closed`: a batch has its requests; `advanced`: it has its
 * file, was asked for, or has its batch; `taken`: a piece of answers; `over`: the end of a batch.
 */
export const SHIPPING_STEPS = ["kept", "closed", "advanced", "taken", "over"] as const;

/** A call has the answer of an earlier run, and its record is not there yet. */
export const REUSE_STEP = "reused";

/** `added`: the jobs have their rows, and nobody has offered them. `offered`: they have their tickets, and none was begun. */
export const KILL_STEPS = ["added", "offered", ...TRY_STEPS, ...SHIPPING_STEPS, REUSE_STEP] as const;

/** The variable that names a step and which of its kind is the last: `finish:3`. Only `crash/cli.ts` reads it. */
export const KILL_VARIABLE = "BELAY_KILL_STEP";

/** Makes stores that end this process once the step that the variable names is on disk. */
export function killingStores(variable: string): (store: Store) => Store {
  const [name, count = "1"] = variable.split(":");
  const at = KILL_STEPS.find((one) => one === name);
  if (!at) throw new Error(`no step is called ${name}`);
  let left = Number(count);
  return (store) => killing(store, at, () => --left === 0 && process.kill(process.pid, "SIGKILL"));
}

/** A store that calls `kill` when this step is on disk, and answers nobody once that was the process's end. */
export function killing(store: Store, at: KillStep, kill: () => boolean): Store {
  const then = async <T>(step: KillStep, work: Promise<T>): Promise<T> => {
    const done = await work;
    if (step !== at || !kill()) return done;
    return new Promise(() => {});
  };
  let isOffered = false;
  /** A submitter reads the jobs that are due to offer them. What it or a try reads next comes behind the offers. */
  const behindOffers = async <T>(read: () => Promise<T>): Promise<T> => {
    if (isOffered) await then("offered", Promise.resolve());
    return read();
  };
  return {
    ...store,
    async create(session) {
      const lease = await then("session", store.create(session));
      return lease.begun === undefined ? lease : then("begin", Promise.resolve(lease));
    },
    async commit(session, step) {
      const kind = kindOf(step);
      return kind === null ? store.commit(session, step) : then(kind, store.commit(session, step));
    },
    jobs: {
      ...store.jobs,
      add: (run, jobs) => then("added", store.jobs.add(run, jobs)),
      async due(page) {
        const found = await store.jobs.due(page);
        isOffered = true;
        return found;
      },
      read: (key) => behindOffers(() => store.jobs.read(key)),
      counts: (run, without) => behindOffers(() => store.jobs.counts(run, without)),
      begin: (key, taking) => then("begin", store.jobs.begin(key, taking)),
      reserve: (hold) => then("reserve", store.jobs.reserve(hold)),
      async reuse(search) {
        const found = await store.jobs.reuse(search);
        return found?.from ? then(REUSE_STEP, Promise.resolve(found)) : found;
      },
      give: (hold, spent) => then("give", store.jobs.give(hold, spent)),
      finish: (key, fence, outcome) => then("finish", store.jobs.finish(key, fence, outcome)),
    },
    batches: {
      ...store.batches,
      keep: (request) => then("kept", store.batches.keep(request)),
      close: (group, fence, most) => then("closed", store.batches.close(group, fence, most)),
      step: (id, fence, change) => then("advanced", store.batches.step(id, fence, change)),
      answer: (id, fence, answers) => then("taken", store.batches.answer(id, fence, answers)),
      end: (id, fence, rest) => then("over", store.batches.end(id, fence, rest)),
    },
  };
}

/** The end of a load, the record of an answer, or the end of the cell. */
function kindOf({ records = [] }: Step): KillStep | null {
  const last = records.at(-1);
  if (last?.record === "rlm_tool_result") return "answer";
  if (last?.record !== "rlm_complete") return null;
  return "kind" in last && last.kind === "load" ? "loaded" : "cell";
}
