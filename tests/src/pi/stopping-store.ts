import { onTestFinished } from "vitest";
import type { Store } from "../../../src/store/port.ts";

/** A store that keeps so many of such records, and does not answer any more. */
export function stoppingAfter(record: string, count = 1): { isReached(): boolean; around(store: Store): Store } {
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => {});
  onTestFinished(() => stopped.reject(new Error("the process is gone")));
  let kept = 0;
  return {
    isReached: () => kept >= count,
    around: (store) => ({
      ...store,
      async commit(session, step) {
        await store.commit(session, step);
        kept += step.records?.filter((one) => one.record === record).length ?? 0;
        if (kept >= count) await stopped.promise;
      },
    }),
  };
}
