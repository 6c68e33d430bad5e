import { setTimeout } from "node:timers/promises";
import { errorCode } from "../../platform/errors.ts";
import { amount } from "../../platform/figures.ts";
import type { Store } from "../../store/index.ts";
import { type Collector, linesOf, sendLines } from "./otlp.ts";
import { exportingOf, spansOf } from "./spans.ts";

/** The collector of a store, and the build that sends to it. */
interface Telemetry {
  readonly collector: Collector;
  /** That of Belay. */
  readonly version: string;
  /** Takes why a collector does not have spans, once for each reason. */
  warn(problem: string): void;
}

/**
 * A store that sends the spans of each ask, and of each exec without one, after its
 * end is kept. Nothing waits for that but the end of the store, for 3 s at most. What
 * is not sent by then is not sent.
 */
export function sendingStore(store: Store, telemetry: Telemetry): Store {
  const sender = openSender(store, telemetry);
  /** Turns and cells of asks that have begun here. */
  const below = new Set<string>();
  return {
    ...store,
    async commit(session, step) {
      const more = await store.commit(session, step);
      for (const record of step.records ?? []) {
        const { record: kind, exec_id } = record;
        if (kind === "rlm_start" && "ask" in record) below.add(exec_id);
        if (kind === "rlm_complete" && !below.delete(exec_id)) sender.ended(session, exec_id);
      }
      return more;
    },
    async [Symbol.asyncDispose]() {
      await sender.close();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** Time for the spans of an exec, ms. */
const SEND_MS = 3000;
/** Time for what is cut off then, ms. */
const CUT_MS = 100;
const LATE = "no answer in time";
/** Sessions that wait at most, if execs end faster than a collector answers. */
const WAITING = 1000;
/** Spans after which no further session is added to a request. */
const TOGETHER = 5000;

function openSender(store: Store, { collector, version, warn }: Telemetry) {
  /** Ids of execs that have ended, by session. */
  const waiting = new Map<string, Set<string>>();
  const warned = new Set<string>();
  const closed = new AbortController();
  let draining: Promise<void> | null = null;

  function failed(problem: string, kind = problem): void {
    if (!warned.has(kind)) warn(problem);
    warned.add(kind);
  }

  async function drain(): Promise<void> {
    while (waiting.size > 0 && !closed.signal.aborted) await sendWaiting().catch((error) => failed(errorCode(error)));
    if (waiting.size > 0) failed(LATE);
    draining = null;
  }

  /** Sends the spans of those that wait, as many as go together. */
  async function sendWaiting(): Promise<void> {
    const gathered: object[] = [];
    for (const [session, only] of waiting) {
      if (gathered.length >= TOGETHER || closed.signal.aborted) break;
      waiting.delete(session);
      const exporting = await exportingOf(store, session, collector.env).catch((error) => failed(errorCode(error)));
      // The spans of a child are among those of its call.
      if (!exporting || exporting.session.origin === "child") continue;
      for (const span of spansOf({ ...exporting, only })) gathered.push(span);
    }
    const signal = AbortSignal.any([closed.signal, AbortSignal.timeout(SEND_MS)]);
    const { spans, rejected, problem } = await sendLines(linesOf(gathered, version), collector, signal);
    if (problem !== null) failed(problem);
    if (rejected > 0) failed(`the collector rejected ${rejected} of ${amount(spans, "span")}`, "rejected");
  }

  return {
    /**
     * An exec has ended. If it is a part of an ask that began elsewhere, it has no trace of its
     * own.
     */
    ended(session: string, exec_id: string): void {
      const only = waiting.get(session);
      if (only) only.add(exec_id);
      else if (waiting.size < WAITING) waiting.set(session, new Set([exec_id]));
      else failed("too many sessions wait");
      draining ??= drain();
    },
    async close(): Promise<void> {
      const isOver = Promise.resolve(draining).then(() => true);
      const isOverIn = (ms: number) => Promise.race([isOver, setTimeout(ms, false, { ref: false })]);
      if (await isOverIn(SEND_MS)) return;
      closed.abort();
      // A sending that is cut off says why, unless it hangs in the store.
      if (!(await isOverIn(CUT_MS))) failed(LATE);
    },
  };
}
