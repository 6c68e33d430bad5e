import type { Answer, Clock, PendingCall, Settlement } from "../../../runtime/index.ts";
import { joinSignals } from "../../joined-signal.ts";

/** Calls that are being answered, and a queue of the answers that are kept. */
export interface InFlight {
  /** Whether the work was done. It is not begun once the exec is to stop, and a suspended exec does not wait for it. */
  unlessStopped<T>(work: (of: T) => Promise<void>, of: T): Promise<boolean>;
  send(calls: readonly PendingCall[]): void;
  /** What has come since, in the order in which it was kept: at least one answer, or none once the exec is to stop. */
  next(): Promise<readonly Answer[]>;
  /** Aborts what is still out and waits for it to be kept, at most so long. What comes later is not kept. */
  callOff(clock: Clock, ms: number): Promise<void>;
}

export interface InFlightOptions<Answered> {
  answer(call: PendingCall, signal: AbortSignal): Promise<Answered>;
  /** Keeps an answer. Where it rejects, so has the exec failed. */
  keep(call: PendingCall, answered: Answered, signal: AbortSignal): Promise<void>;
  failed(error: unknown): void;
  /** The exec is to stop. */
  readonly stop: AbortSignal;
  /** It is suspended: what is out has no answer and is sent again by the process that resumes. */
  readonly suspend: AbortSignal | undefined;
}

export function openInFlight<Answered extends { readonly settlement: Settlement }>(
  options: InFlightOptions<Answered>,
): InFlight {
  const { stop, suspend } = options;
  const over = new AbortController();
  const abort = joinSignals(stop, over.signal);
  const out = new Set<Promise<void>>();
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
    async unlessStopped(work, of) {
      if (stop.aborted) return false;
      const failed = (error: unknown) => options.failed(error ?? "unknown reason");
      const done = work(of).catch(failed);
      using suspended = joinSignals(suspend);
      await (suspend ? Promise.race([done, aborted(suspended.signal)]) : done);
      return !stop.aborted;
    },
    send(calls) {
      for (const call of calls) {
        const running = run(call)
          .catch(options.failed)
          .finally(() => out.delete(running));
        out.add(running);
      }
    },
    async next() {
      if (queue.length === 0 && !stop.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const answers = queue;
      queue = [];
      return answers;
    },
    async callOff(clock, ms) {
      if (out.size > 0) {
        over.abort();
        await Promise.race([Promise.all(out), new Promise<void>((resolve) => clock.after(ms, resolve))]);
      }
      closed = true;
      abort[Symbol.dispose]();
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
