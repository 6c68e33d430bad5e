import type { Step, Store } from "../../src/store/index.ts";

/** A write of a try. Each lies between two others: docs/durability.md has their order. */
export type KillStep = (typeof KILL_STEPS)[number];

export const KILL_STEPS = ["session", "begin", "loaded", "reserve", "give", "answer", "cell", "finish"] as const;

/** A store that calls `kill` when this step is on disk, and answers nobody then. */
export function killing(store: Store, at: KillStep, kill: () => void): Store {
  const then = async <T>(step: KillStep, work: Promise<T>): Promise<T> => {
    const done = await work;
    if (step !== at) return done;
    kill();
    return new Promise(() => {});
  };
  return {
    ...store,
    create: (session) => then("session", store.create(session)),
    async commit(session, step) {
      const kind = kindOf(step);
      await (kind === null ? store.commit(session, step) : then(kind, store.commit(session, step)));
    },
    jobs: {
      ...store.jobs,
      begin: (key, taking) => then("begin", store.jobs.begin(key, taking)),
      reserve: (hold) => then("reserve", store.jobs.reserve(hold)),
      give: (hold, spent) => then("give", store.jobs.give(hold, spent)),
      finish: (key, fence, outcome) => then("finish", store.jobs.finish(key, fence, outcome)),
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
