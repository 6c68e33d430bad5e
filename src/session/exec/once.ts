import { duration } from "../../platform/figures.ts";
import { functionOf } from "../journal/ledger.ts";
import type { Suspend } from "../journal/records.ts";
import { FREE } from "../sub-calls/plan.ts";
import type { Continuation, OnceCalls } from "./ports.ts";
import type { Work } from "./work.ts";

/** @param from what the exec goes on from; null: it is new */
export function openOnce({ setup, recorder }: Pick<Work, "setup" | "recorder">, from: Continuation | null): OnceCalls {
  const { env, row, rules } = setup;
  const suspended = from?.suspended ?? null;
  return {
    hasBegun: (id) => from?.running.includes(id) === true,
    waitMs(running) {
      // Another process may have the session: no answer could be kept.
      if (row.lost?.aborted) return 0;
      const names = [...new Set(running.map(({ name }) => functionOf(name) ?? name))].join(", ");
      const wait = `stopping: waiting up to ${duration(rules.onceWaitMs)} for ${names}, which must not run twice`;
      env.emit({ kind: "notice", text: `${wait}; stop again to end at once` });
      return rules.onceWaitMs;
    },
    left(begun) {
      if (row.lost?.aborted) return [];
      const { last } = recorder.state().account;
      return (last?.running ?? []).filter((id) => begun.has(id));
    },
    processRestarted({ id, name }) {
      const error = {
        name: "Error",
        code: "process_restarted",
        message: `Process was restarted${howItEnded(id, functionOf(name), suspended)}`,
        suggestion: "The call may or may not have been carried out: make it again, or go on without its answer.",
        retriable: true,
      };
      return { settlement: { ok: false, error }, record: FREE, cacheKey: null };
    },
  };
}

function howItEnded(id: string, called: string | null, suspended: Suspend | null): string {
  if (called === null) return "";
  if (!suspended?.still_running.includes(id)) return `: it ended before ${called} had answered`;
  return `: ${called} still ran ${duration(suspended.waited_ms)} after it was to stop`;
}
