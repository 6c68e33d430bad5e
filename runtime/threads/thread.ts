import type { Clock } from "../clock.ts";
import { COMMAND_MS } from "../limits.ts";
import { type FromThread, type MachineSetup, type Printed, SHARED, type ToThread } from "../protocol.ts";
import type { MachineThread } from "./machine-thread.ts";
import type { Seat } from "./pool.ts";
import { watchThread } from "./watchdog.ts";

/** The thread of a machine, watched: if it does not answer in time, the machine counts as failed. */
export type Thread<Message> = ReturnType<typeof openThread<Message>>;

export interface ThreadOptions {
  readonly seat: Pick<Seat<Pick<MachineThread, "shared" | "send" | "listen" | "end">>, "thread" | "leave">;
  readonly clock: Pick<Clock, "monotonic" | "after">;
  readonly notice: ((text: string) => void) | undefined;
}

export function openThread<Message>({ seat, clock, notice }: ThreadOptions) {
  const { shared } = seat.thread;
  let printed: Printed[] = [];
  let waiting: ((message: FromThread) => void) | undefined;
  let dead: string | undefined;
  let ended: Promise<void> | undefined;
  /** A message failed: no other machine may be opened in this thread. */
  let isPoisoned = false;

  function answer(reply: FromThread): void {
    if (reply.kind === "failed") isPoisoned = true;
    waiting?.(reply);
    waiting = undefined;
  }

  const fail = (why: string) => answer({ kind: "failed", message: why });

  function died(why: string): void {
    dead ??= why;
    fail(dead);
  }

  shared.fill(0);
  seat.thread.listen({
    heard(message) {
      if (message.kind === "notice") notice?.(message.text);
      else if (message.kind === "printed") printed.push(...message.parts);
      else answer(message);
    },
    gone: died,
  });

  /** Sends a message, and resolves with its answer or with why there is none. */
  function exchange(message: ToThread<Message>, transfer: readonly ArrayBuffer[] = []): Promise<FromThread> {
    return new Promise((resolve) => {
      waiting = resolve;
      if (dead !== undefined) return fail(dead);
      Atomics.store(shared, SHARED.capturing, 0);
      seat.thread.send(message, transfer);
    });
  }

  /**
   * Sends a message and waits for its answer, one at a time. If the thread takes too long, the answer is `failed`: see
   * `watchThread`.
   * @param limitMs how long the guest may run
   * @param listensToCancel true if the `cancel` word shortens that
   */
  async function ask(message: ToThread<Message>, limitMs: number, listensToCancel = true): Promise<FromThread> {
    const unwatch = watchThread({ shared, clock, limitMs, listensToCancel }, fail);
    const reply = await exchange(message);
    unwatch();
    if (reply.kind !== "failed") printed = [];
    return reply;
  }

  /** Ends the thread. The message that waits for an answer, and every later one, is answered `failed` with this reason. */
  async function end(why: string): Promise<void> {
    died(why);
    ended ??= seat.thread.end();
    await ended;
  }

  return {
    /** Opens the machine, however long that takes. */
    open: (setup: MachineSetup<Message>, transfer: readonly ArrayBuffer[]) =>
      exchange({ kind: "open", setup }, transfer),
    ask,
    /** Sets or clears the word that ends the running exec as cancelled. */
    cancel: (on: boolean): void => void (dead === undefined && Atomics.store(shared, SHARED.cancel, on ? 1 : 0)),
    /** The guest's output since the last answer. */
    printed: (): readonly Printed[] => printed,
    end,
    /** Like `end`, but a thread whose machine is at rest and sound only drops the machine, and serves others. */
    async release(why: string): Promise<void> {
      if (dead !== undefined) return ended;
      if (waiting || isPoisoned) return end(why);
      const reply = await ask({ kind: "close" }, COMMAND_MS, false);
      if (reply.kind !== "closed") return end(why);
      died(why);
      // It serves other machines from now on.
      ended = Promise.resolve();
      seat.thread.listen(null);
      await seat.leave(reply.isSmall);
    },
  };
}
