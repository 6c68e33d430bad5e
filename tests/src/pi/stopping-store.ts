import { onTestFinished } from "vitest";
import type { Store } from "../../../src/store/index.ts";

/**
 * A store that keeps so many of such records, without the last of them if it stops before it, and does not answer any
 * more. When the test ends the commit fails: a machine that worked on for ever would keep a core from the tests of
 * other files.
 */
export function stoppingAt(record: string, count = 1, side: "before" | "after" = "after") {
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => {});
  onTestFinished(() => stopped.reject(new Error("the process is gone")));
  let seen = 0;
  let isReached = false;
  return {
    isReached: () => isReached,
    around: (store: Store): Store => ({
      ...store,
      async commit(session, step) {
        seen += step.records?.filter((one) => one.record === record).length ?? 0;
        const more = seen < count || side === "after" ? await store.commit(session, step) : 0;
        isReached ||= seen >= count;
        if (isReached) await stopped.promise;
        return more;
      },
    }),
  };
}
