import type { Answer, Clock, PendingCall, Settlement } from "../../../runtime/index.ts";
import { aborted, joinSignals } from "../../platform/signals.ts";
import type { Parking } from "../parking.ts";

export interface InFlightOptions<Answered> extends Pick<Parking, "active"> {
  answer(call: PendingCall, signal: AbortSignal): Promise<Answered>;
  /** Keeps an answer. If it rejects, the exec has failed. */
  keep(call: PendingCall, answered: Answered, signal: AbortSignal): Promise<void>;
  failed(error: unknown): void;
  /** The exec is to stop. */
  readonly stop: AbortSignal;
  /** The exec is suspended: calls that are out get no answer. The process that resumes sends them again. */
  readonly suspend: AbortSignal | undefined;
}

/** Opens the calls that are being answered, and the queue of the answers that are kept. */
export function openInFlight<Answered extends { readonly settlement: Settlement }>(options: InFlightOptions<Answered>) {
  const { stop, suspend } = options;
  const over = new AbortController();
  const abort = joinSignals(stop, over.signal);
  const out = new Set<Promise<void>>();
  const sent = new Set<string>();
  let queue: Answer[] = [];
  let wake = () => {};
  let closed = false;
  stop.addEventListener("abort", () => wake(), { once: true });

  async function run(call: PendingCall): Promise<void> {
    const answered = await options.answer(call, abort.signal);
    if (closed || suspend?.aborted) return;
    await options.keep(call, answered, abort.signal);
    queue.push({ id: call.id, settlement: answered.settlement });
    wake();
  }

  return {
    /** Answers whether the work was done. If the exec is to stop, it does not begin; a suspended exec does not wait for it. */
    async unlessStopped<T>(work: (of: T) => Promise<void>, of: T): Promise<boolean> {
      if (stop.aborted) return false;
      const failed = (error: unknown) => options.failed(error ?? "unknown reason");
      const done = work(of).catch(failed);
      using suspended = joinSignals(suspend);
      await (suspend ? Promise.race([done, aborted(suspended.signal)]) : done);
      return !stop.aborted;
    },
    /** Sends the calls that were not sent before: a guest that was opened again names those that are out. */
    send(calls: readonly PendingCall[]): void {
      for (const call of calls.filter(({ id }) => !sent.has(id))) {
        sent.add(call.id);
        const running = options
          .active(() => run(call))
          .catch(options.failed)
          .finally(() => out.delete(running));
        out.add(running);
      }
    },
    /** The answers kept since the last call, in that order: at least one, or none if the exec is to stop. */
    async next(): Promise<readonly Answer[]> {
      if (queue.length === 0 && !stop.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const answers = queue;
      queue = [];
      return answers;
    },
    /** Aborts the calls that are still out and waits up to `ms` for their answers to be kept. Later answers are not kept. */
    async callOff(clock: Clock, ms: number): Promise<void> {
      if (out.size > 0) {
        over.abort();
        await Promise.race([Promise.all(out), new Promise<void>((resolve) => clock.after(ms, resolve))]);
      }
      closed = true;
      abort[Symbol.dispose]();
    },
  };
}
