import { Worker } from "node:worker_threads";
import type { Clock } from "./clock.ts";
import { COMMAND_MS, TERMINATE_MS } from "./limits.ts";
import { type FromWorker, type Printed, SHARED, type ToWorker } from "./protocol.ts";

/** The worker of a machine, watched: what it does not answer in time, it is ended for. */
export interface Thread<Message> {
  /** Its first message, or that it failed to start. */
  readonly opened: Promise<FromWorker>;
  /**
   * Sends a message and waits for its answer, one at a time; after `limitMs` of guest time and TERMINATE_MS it is answered
   * `failed`. Where nobody listens to `cancel`, the word does not shorten that. To take an image of a guest that came to
   * rest in time has a limit of its own.
   */
  ask(message: ToWorker<Message>, limitMs: number, listens?: "cancel" | "not"): Promise<FromWorker>;
  /** Sets or clears the word that ends the running exec as cancelled. */
  cancel(on: boolean): void;
  /** What the guest has printed since the last answer. */
  printed(): readonly Printed[];
  /** Ends the worker; what waits for an answer, and every later question, is answered `failed` with this reason. */
  end(why: string): Promise<void>;
}

export interface ThreadOptions {
  readonly module: URL;
  readonly setup: { readonly shared: Int32Array };
  readonly transfer: readonly ArrayBuffer[];
  readonly clock: Clock;
  readonly notice: ((text: string) => void) | undefined;
}

export const TIMED_OUT = "the guest ran on past its limit and was ended from outside";
export const CANCELLED = "the guest did not stop when cancelled and was ended from outside";

export function openThread<Message>({ module, setup, transfer, clock, notice }: ThreadOptions): Thread<Message> {
  const { shared } = setup;
  const worker = new Worker(module, {
    workerData: setup,
    transferList: [...transfer],
    // Deep recursion in the guest must meet its own limit (512 KB) long before this one.
    resourceLimits: { stackSizeMb: 16 },
    // Flags of a caller such as --input-type are refused for a thread.
    execArgv: [],
  });
  let printed: Printed[] = [];
  let waiting: ((message: FromWorker) => void) | undefined;
  let dead: string | undefined;
  const died = (why: string) => {
    dead ??= why;
    waiting?.({ kind: "failed", message: dead });
  };
  worker.on("message", (message: FromWorker) => {
    if (message.kind === "notice") notice?.(message.text);
    else if (message.kind === "printed") printed.push(...message.parts);
    else waiting?.(message);
  });
  worker.on("error", (error) => died(error.message));
  worker.on("exit", () => died("the machine's thread ended"));
  const opened = new Promise<FromWorker>((resolve) => {
    waiting = resolve;
  }).finally(() => {
    waiting = undefined;
    // A session that nobody closed must not keep its process alive; while a message is on its way, its watchdog does.
    worker.unref();
  });

  function ask(message: ToWorker<Message>, limitMs: number, listens: "cancel" | "not" = "cancel"): Promise<FromWorker> {
    return new Promise((resolve) => {
      const sentAt = clock.monotonic();
      let cancelledAt: number | undefined;
      let takingSince: number | undefined;
      let timer: NodeJS.Timeout | undefined;
      const answer = (reply: FromWorker) => {
        waiting = undefined;
        if (reply.kind !== "failed") printed = [];
        clearTimeout(timer);
        resolve(reply);
      };
      const look = () => {
        const now = clock.monotonic();
        if (listens === "cancel" && Atomics.load(shared, SHARED.cancel) === 1) cancelledAt ??= now;
        if (Atomics.load(shared, SHARED.taking) === 1) takingSince ??= now;
        const ends = [
          sentAt + Atomics.load(shared, SHARED.offClockMs) + limitMs + TERMINATE_MS,
          cancelledAt === undefined ? Number.POSITIVE_INFINITY : cancelledAt + TERMINATE_MS,
        ];
        const left = (takingSince === undefined ? Math.min(...ends) : takingSince + COMMAND_MS) - now;
        const mayWait = Atomics.load(shared, SHARED.offClock) === 1 && cancelledAt === undefined;
        if (left > 0 || mayWait) timer = setTimeout(look, mayWait ? LOOK_MS : Math.min(left, LOOK_MS));
        else answer({ kind: "failed", message: cancelledAt === undefined ? TIMED_OUT : CANCELLED });
      };
      if (dead !== undefined) return answer({ kind: "failed", message: dead });
      waiting = answer;
      timer = setTimeout(look, LOOK_MS);
      Atomics.store(shared, SHARED.taking, 0);
      worker.postMessage(message);
    });
  }

  return {
    opened,
    ask,
    cancel: (on) => Atomics.store(shared, SHARED.cancel, on ? 1 : 0),
    printed: () => printed,
    async end(why) {
      died(why);
      await worker.terminate();
    },
  };
}

const LOOK_MS = 100;
