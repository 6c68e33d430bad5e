import type { PendingCall } from "../../../runtime/index.ts";
import { duration } from "../../platform/figures.ts";
import { callIn } from "../journal/exec-records.ts";
import { functionOf } from "../journal/ledger.ts";
import type { Suspend } from "../journal/records.ts";
import { FREE } from "../sub-calls/plan.ts";
import type { Answered } from "../sub-calls/port.ts";
import { inFlight } from "./interrupted.ts";
import type { Continuation } from "./ports.ts";
import type { Work } from "./work.ts";

/** Calls of functions with the effects `once`, which must not run twice. */
export interface OnceCalls {
  /** True if an earlier process made the call, and no process has run it. */
  isUntouched(id: string): boolean;
  /** The time for which a graceful stop waits for these calls, ms. The person is told of it. */
  waitMs(running: readonly PendingCall[]): number;
  /**
   * The calls that a graceful stop leaves open; null: none.
   *
   * @param unkept calls that may have no record yet
   * @param begun ids of the calls that this process has begun to run
   */
  left(unkept: readonly PendingCall[], begun: ReadonlySet<string>): CallsLeft | null;
  /** The answer to a call of which nobody knows whether it was carried out. The message says how its process ended. */
  processRestarted(call: PendingCall): Answered;
}

export type CallsLeft = Pick<Suspend, "not_begun" | "still_running">;

/** @param from what the exec goes on from; null: it is new */
export function openOnce({ setup, recorder }: Pick<Work, "setup" | "recorder">, from: Continuation | null): OnceCalls {
  const { answers, env, row, rules } = setup;
  const suspended = from?.suspended ?? null;
  const isUntouched = (id: string) => suspended?.not_begun.includes(id) === true;
  /** True if an earlier process may have run the call. */
  const isInDoubt = (id: string) => from?.recorded.has(id) === true && !isUntouched(id);
  return {
    isUntouched,
    waitMs(running) {
      // Another process may have the session: no answer could be kept.
      if (row.lost?.aborted) return 0;
      const names = [...new Set(running.map(({ name }) => functionOf(name) ?? name))].join(", ");
      const wait = `stopping: waiting up to ${duration(rules.onceWaitMs)} for ${names}, which must not run twice`;
      env.emit({ kind: "notice", text: `${wait}; stop again to end at once` });
      return rules.onceWaitMs;
    },
    left(unkept, begun) {
      if (row.lost?.aborted) return null;
      const { last } = recorder.state().account;
      const recorded = (last ? inFlight(last) : []).map(({ call_id: id, name }) => ({ id, name }));
      const isOnce = (call: Pick<PendingCall, "id" | "name">) =>
        (callIn(last, call.id)?.effects ?? answers.effectsOf?.(call)) === "once";
      const open = [...new Set([...recorded, ...unkept].filter(isOnce).map(({ id }) => id))];
      const still_running = open.filter((id) => begun.has(id));
      const not_begun = open.filter((id) => !begun.has(id) && !isInDoubt(id));
      return open.length === 0 ? null : { not_begun, still_running };
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
