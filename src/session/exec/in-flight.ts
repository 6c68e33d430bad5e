import type { Answer, PendingCall } from "../../../runtime/index.ts";
import { aborted, joinSignals } from "../../platform/signals.ts";
import type { LoopParts } from "./ports.ts";

interface Ends {
  /** The exec has failed: an answer could not be kept. */
  failed(error: unknown): void;
  /** The exec is to stop. */
  readonly stop: AbortSignal;
  /** The exec is to stop, and not because it is suspended. */
  readonly cancelled: AbortSignal;
  /**
   * The exec is suspended: calls that are out get no answer, and the process that resumes sends them again. Only what must not run
   * twice is waited for.
   */
  readonly suspend: AbortSignal | undefined;
}

export type InFlight = ReturnType<typeof openInFlight>;

/** Opens the calls that are being answered, and the queue of the answers that are kept. */
export function openInFlight(
  { calls, journal, clock, parking }: Omit<LoopParts, "machine">,
  { failed, stop, cancelled, suspend }: Ends,
) {
  const over = new AbortController();
  const abort = joinSignals(stop, over.signal);
  const heldOver = joinSignals(cancelled, over.signal);
  /** The calls that are being answered, by their ids. */
  const out = new Map<string, { readonly call: PendingCall; readonly running: Promise<void> }>();
  /** Ids of calls that have begun what must not run twice. */
  const held = new Set<string>();
  const sent = new Set<string>();
  let queue: Answer[] = [];
  let wake = () => {};
  let closed = false;
  stop.addEventListener("abort", () => wake(), { once: true });

  async function run(call: PendingCall): Promise<void> {
    const hold = async () => {
      held.add(call.id);
      await journal.keepRun(call.id); // ▣ rlm_run, before what must not run twice
      return heldOver.signal;
    };
    const answered = await calls.answer(call, abort.signal, hold);
    if (closed) return;
    if (suspend?.aborted && (!held.has(call.id) || heldOver.signal.aborted)) return;
    await journal.keepResult(call, answered, abort.signal); // ▣ rlm_tool_result, as each answer comes
    queue.push({ id: call.id, settlement: answered.settlement });
    wake();
  }

  return {
    /** Answers whether the work was done. If the exec is to stop, it does not begin; a suspended exec does not wait for it. */
    async unlessStopped<T>(work: (of: T) => Promise<void>, of: T): Promise<boolean> {
      if (stop.aborted) return false;
      const done = work(of).catch((error: unknown) => failed(error ?? "unknown reason"));
      using suspended = joinSignals(suspend);
      await (suspend ? Promise.race([done, aborted(suspended.signal)]) : done);
      return !stop.aborted;
    },
    /** Sends the calls that were not sent before: a guest that was opened again names those that are out. */
    send(waiting: readonly PendingCall[]): void {
      for (const call of waiting.filter(({ id }) => !sent.has(id))) {
        sent.add(call.id);
        const running = parking
          .active(() => run(call)) // until its answer is kept
          .catch(failed)
          .finally(() => out.delete(call.id));
        out.set(call.id, { call, running });
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
    /** Calls that have begun and must not run twice: the ids of all, those without an answer, and the end of their answering. */
    held() {
      const open = [...out.values()].filter(({ call }) => held.has(call.id));
      const answered = Promise.all(open.map(({ running }) => running));
      return { begun: held, running: open.map(({ call }) => call), answered };
    },
    /** Aborts the calls that are still out and waits up to `ms` for their answers to be kept. Later answers are not kept. */
    async callOff(ms: number): Promise<void> {
      if (out.size > 0) {
        over.abort();
        const answers = Promise.all([...out.values()].map(({ running }) => running));
        await Promise.race([answers, new Promise<void>((resolve) => clock.after(ms, resolve))]);
      }
      closed = true;
      abort[Symbol.dispose]();
      heldOver[Symbol.dispose]();
    },
  };
}
