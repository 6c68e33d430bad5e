import type { Clock } from "../clock.ts";
import { COMMAND_MS } from "../limits.ts";
import { type FromThread, type Printed, SHARED, type ToThread } from "../protocol.ts";
import type { MachineThread } from "./machine-thread.ts";
import type { Seat } from "./pool.ts";
import { watchThread } from "./watchdog.ts";

/** The thread of a machine, watched: if it does not answer in time, the machine counts as failed. */
export interface Thread<Message> {
  /** Opens the machine, however long that takes: `setup` is what the thread's side of it reads. */
  open(setup: unknown, transfer: readonly ArrayBuffer[]): Promise<FromThread>;
  /**
   * Sends a message and waits for its answer, one at a time. If the thread takes too long, the answer is `failed`: see
   * `watchThread`.
   * @param limitMs how long the guest may run
   * @param listens whether the `cancel` word shortens that
   */
  ask(message: ToThread<Message>, limitMs: number, listens?: "cancel" | "not"): Promise<FromThread>;
  /** Sets or clears the word that ends the running exec as cancelled. */
  cancel(on: boolean): void;
  /** The guest's output since the last answer. */
  printed(): readonly Printed[];
  /** Ends the thread. The message that waits for an answer, and every later one, is answered `failed` with this reason. */
  end(why: string): Promise<void>;
  /** Like `end`, but a thread whose machine is at rest and sound only drops the machine, and serves others. */
  release(why: string): Promise<void>;
}

export interface ThreadOptions {
  readonly seat: Pick<Seat<Pick<MachineThread, "shared" | "send" | "listen" | "end">>, "thread" | "leave">;
  readonly clock: Pick<Clock, "monotonic" | "after">;
  readonly notice: ((text: string) => void) | undefined;
}

export function openThread<Message>({ seat, clock, notice }: ThreadOptions): Thread<Message> {
  const { thread } = seat;
  const { shared } = thread;
  let printed: Printed[] = [];
  let waiting: ((message: FromThread) => void) | undefined;
  let dead: string | undefined;
  let ended: Promise<void> | undefined;
  /** A message failed: no other machine may be opened in this thread. */
  let isPoisoned = false;

  function died(why: string): void {
    dead ??= why;
    waiting?.({ kind: "failed", message: dead });
  }

  shared.fill(0);
  thread.listen({
    heard(message) {
      if (message.kind === "notice") notice?.(message.text);
      else if (message.kind === "printed") printed.push(...message.parts);
      else waiting?.(message);
    },
    gone: died,
  });

  /** Sends a message, and resolves with its answer or with why there is none. */
  function exchange(send: (answer: (reply: FromThread) => void) => void): Promise<FromThread> {
    return new Promise((resolve) => {
      const answer = (reply: FromThread) => {
        waiting = undefined;
        if (reply.kind === "failed") isPoisoned = true;
        resolve(reply);
      };
      if (dead !== undefined) return answer({ kind: "failed", message: dead });
      waiting = answer;
      send(answer);
    });
  }

  async function ask(
    message: ToThread<Message>,
    limitMs: number,
    listens: "cancel" | "not" = "cancel",
  ): Promise<FromThread> {
    let unwatch = () => {};
    const reply = await exchange((answer) => {
      const overdue = (why: string) => answer({ kind: "failed", message: why });
      unwatch = watchThread({ shared, clock, limitMs, listensToCancel: listens === "cancel" }, overdue);
      Atomics.store(shared, SHARED.capturing, 0);
      thread.send(message, []);
    });
    unwatch();
    if (reply.kind !== "failed") printed = [];
    return reply;
  }

  async function end(why: string): Promise<void> {
    died(why);
    ended ??= thread.end();
    await ended;
  }

  return {
    open: (setup, transfer) => exchange(() => thread.send({ kind: "open", setup }, transfer)),
    ask,
    cancel: (on) => void (dead === undefined && Atomics.store(shared, SHARED.cancel, on ? 1 : 0)),
    printed: () => printed,
    end,
    async release(why) {
      if (dead !== undefined) return ended;
      if (waiting || isPoisoned) return end(why);
      const reply = await ask({ kind: "close" }, COMMAND_MS, "not");
      if (reply.kind !== "closed") return end(why);
      died(why);
      // It serves other machines from now on.
      ended = Promise.resolve();
      thread.listen(null);
      await seat.leave(reply.isSmall);
    },
  };
}
