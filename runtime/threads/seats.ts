import type { Poolable, PoolOptions, Threads } from "./threads.ts";

/** The place of one machine in a pool: its thread, and what the machine does at the moment. */
export interface Seat<T> {
  readonly thread: T;
  /** The machine is open, so the next one may be opened. */
  opened(): void;
  /** The machine does nothing until an answer comes (`on`), or continues. */
  waits(on: boolean): void;
  /**
   * The machine is not in use. `giveUp` is called after `ms`, or earlier if the thread is needed;
   * it must call `leave`.
   */
  rest(giveUp: () => Promise<void>, ms: number): void;
  /** The machine is used again. */
  wake(): void;
  /**
   * The machine is gone. If the thread is `reusable` it serves another one; otherwise it is ended.
   */
  leave(reusable: boolean): Promise<void>;
}

type State = "opening" | "working" | "waiting" | "resting" | "left";

/**
 * The places of machines in a pool. While there are more than `kept` threads no machine rests.
 * @param endTurn is called when a machine has stopped opening: it is open, or gone
 */
export function openSeats<T extends Poolable>(
  threads: Threads<T>,
  { kept, background }: Pick<PoolOptions<T>, "kept" | "background">,
  endTurn: () => void,
) {
  /** The one that has rested longest comes first. Each with what gives its machine up. */
  const resting = new Map<Seat<T>, () => Promise<void>>();
  const states = new Map<Seat<T>, State>();

  /** Gives up the machine that has rested longest. */
  async function giveUpOldest(): Promise<void> {
    for (const [seat, giveUp] of resting) {
      seat.wake();
      await giveUp();
      return;
    }
  }

  function of(thread: T): Seat<T> {
    let callOff = () => {};
    function set(state: State): void {
      callOff();
      if (!states.has(seat)) return;
      if (states.get(seat) === "opening") endTurn();
      resting.delete(seat);
      if (state === "left") states.delete(seat);
      else states.set(seat, state);
      threads.changed();
    }
    const seat: Seat<T> = {
      thread,
      opened: () => set("working"),
      waits(on) {
        if (states.get(seat) === (on ? "working" : "waiting")) set(on ? "waiting" : "working");
      },
      rest(giveUp, ms) {
        set("resting");
        resting.set(seat, giveUp);
        const give = () => {
          seat.wake();
          void giveUp();
        };
        if (ms === 0) return give();
        callOff = background.after(ms, give);
        if (threads.count() > kept) void giveUpOldest();
      },
      wake: () => set("working"),
      async leave(reusable) {
        if (!states.has(seat)) return;
        set("left");
        if (reusable && threads.countFree() < kept) threads.keep(Promise.resolve(thread));
        else await thread.end();
      },
    };
    states.set(seat, "opening");
    threads.whenGone(thread, () => set("left"));
    return seat;
  }

  return {
    of,
    /** The number of seats whose machine does nothing at the moment. */
    countAtRest: () => [...states.values()].filter((state) => state === "waiting" || state === "resting").length,
    hasResting: () => resting.size > 0,
    giveUpOldest,
  };
}
