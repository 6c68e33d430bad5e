import type { Clock } from "./clock.ts";
import { COMMAND_MS, TERMINATE_MS } from "./limits.ts";
import type { MachineThread } from "./machine-thread.ts";
import type { Seat } from "./pool.ts";
import { type FromWorker, type Printed, SHARED, type ToWorker } from "./protocol.ts";

/** The thread of a machine, watched: what it does not answer in time, it is ended for. */
export interface Thread<Message> {
  /** Opens the machine, however long that takes: `setup` is what the thread's side of it reads. */
  open(setup: unknown, transfer: readonly ArrayBuffer[]): Promise<FromWorker>;
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
  /** Ends the thread; what waits for an answer, and every later question, is answered `failed` with this reason. */
  end(why: string): Promise<void>;
  /** As `end`, but a thread whose machine is at rest and sound only drops the machine and serves others. */
  release(why: string): Promise<void>;
}

export interface ThreadOptions {
  readonly seat: Pick<Seat<Pick<MachineThread, "shared" | "send" | "listen" | "end">>, "thread" | "leave">;
  readonly clock: Clock;
  readonly notice: ((text: string) => void) | undefined;
}

export const TIMED_OUT = "the guest ran on past its limit and was ended from outside";
export const CANCELLED = "the guest did not stop when cancelled and was ended from outside";

export function openThread<Message>({ seat, clock, notice }: ThreadOptions): Thread<Message> {
  const { thread } = seat;
  const { shared } = thread;
  let printed: Printed[] = [];
  let waiting: ((message: FromWorker) => void) | undefined;
  let dead: string | undefined;
  /** Something failed that must not: another machine is not opened in this thread. */
  let isPoisoned = false;
  const died = (why: string) => {
    dead ??= why;
    waiting?.({ kind: "failed", message: dead });
  };
  shared.fill(0);
  thread.listen({
    heard(message) {
      if (message.kind === "notice") notice?.(message.text);
      else if (message.kind === "printed") printed.push(...message.parts);
      else waiting?.(message);
    },
    gone: died,
  });

  function answered(reply: FromWorker): FromWorker {
    waiting = undefined;
    if (reply.kind === "failed") isPoisoned = true;
    return reply;
  }

  function open(setup: unknown, transfer: readonly ArrayBuffer[]): Promise<FromWorker> {
    return new Promise((resolve) => {
      if (dead !== undefined) return resolve({ kind: "failed", message: dead });
      waiting = (reply) => resolve(answered(reply));
      thread.send({ kind: "open", setup }, transfer);
    });
  }

  function ask(message: ToWorker<Message>, limitMs: number, listens: "cancel" | "not" = "cancel"): Promise<FromWorker> {
    return new Promise((resolve) => {
      const sentAt = clock.monotonic();
      let cancelledAt: number | undefined;
      let takingSince: number | undefined;
      let timer: NodeJS.Timeout | undefined;
      const answer = (reply: FromWorker) => {
        if (reply.kind !== "failed") printed = [];
        clearTimeout(timer);
        resolve(answered(reply));
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
      thread.send(message, []);
    });
  }

  async function end(why: string): Promise<void> {
    died(why);
    await thread.end();
  }

  async function release(why: string): Promise<void> {
    if (dead !== undefined || waiting || isPoisoned) return end(why);
    const reply = await ask({ kind: "close" }, COMMAND_MS, "not");
    if (reply.kind !== "closed") return end(why);
    died(why);
    thread.listen(null);
    await seat.leave(reply.isSmall);
  }

  return {
    open,
    ask,
    cancel: (on) => Atomics.store(shared, SHARED.cancel, on ? 1 : 0),
    printed: () => printed,
    end,
    release,
  };
}

const LOOK_MS = 100;
