import type { Clock } from "../clock.ts";

/**
 * The threads of machines. As many machines open at once as there are cores. Machines that are open
 * do not count, so one of them can wait for another one. If there are `kept` threads, a new machine
 * takes the thread of a resting one, or waits a moment for a working one to end. Only then the pool
 * grows.
 */
export interface Pool<T extends Poolable> {
  /** Waits for the machine's turn to open, and returns its place. */
  take(): Promise<Seat<T>>;
  /** Starts a thread for the next machine, if there is none yet. */
  warm(): void;
}

/**
 * Time that a machine waits for the thread of a working one, ms: longer than a short cell takes. If
 * starting a thread takes longer, the machine waits as long as that: while the cores are busy
 * another thread would make all of them slower.
 */
const PATIENCE_MS = 100;

export function openPool<T extends Poolable>(options: PoolOptions<T>): Pool<T> {
  const { clock, cores, kept } = options;
  const threads = openThreads(options);
  const turns = openTurns(cores);
  const seats = openSeats(threads, options, turns.end);

  /** Threads that start, open a machine, run one or end. */
  const busy = () => threads.count() - threads.countFree() - seats.countAtRest();

  async function takeThread(): Promise<T> {
    const until = clock.monotonic() + Math.max(PATIENCE_MS, threads.startMs());
    for (;;) {
      const left = until - clock.monotonic();
      const free = threads.takeFree();
      if (free) return free;
      if (threads.count() < kept) return threads.begin();
      if (seats.hasResting()) await seats.giveUpOldest();
      else if (busy() >= cores && left > 0) await soon(threads.change(), clock, left);
      else return threads.begin();
    }
  }

  return {
    async take() {
      await turns.take();
      try {
        return seats.of(await takeThread());
      } catch (error) {
        turns.end();
        throw error;
      }
    },
    warm() {
      if (threads.countFree() === 0 && threads.count() < kept) threads.keep(threads.begin());
    },
  };
}

/** Resolves once something changes for a machine that waits, or after `ms`. */
async function soon(change: Promise<void>, clock: Clock, ms: number): Promise<void> {
  let callOff = () => {};
  await Promise.race([change, new Promise<void>((resolve) => (callOff = clock.after(ms, resolve)))]);
  callOff();
}

/**
 * Lets `cores` machines open at once. The next turn goes to the machine that has waited longest.
 */
function openTurns(cores: number) {
  const waiting: (() => void)[] = [];
  let opening = 0;
  return {
    async take(): Promise<void> {
      if (opening >= cores) await new Promise<void>((resolve) => waiting.push(resolve));
      else opening++;
    },
    end(): void {
      const next = waiting.shift();
      if (next) next();
      else opening--;
    },
  };
}

/** A thread that serves one machine at a time. */
export interface Poolable {
  /** Resolves once the thread is gone, however it ended. */
  readonly gone: Promise<void>;
  end(): Promise<void>;
}

interface PoolOptions<T> {
  start(): Promise<T>;
  readonly clock: Clock;
  /** Timers that let the process end. */
  readonly background: Pick<Clock, "after">;
  /** The number of machines that open at once. */
  readonly cores: number;
  /** Threads up to this number are started as needed and kept for the next machine. */
  readonly kept: number;
  /** Time that a thread without a machine stays, ms. */
  readonly lingerMs: number;
}

/** The threads of a pool, and those of them that have no machine. */
interface Threads<T extends Poolable> {
  begin(): Promise<T>;
  /** Lets a thread stay for the next machine, for `lingerMs`. */
  keep(thread: Promise<T>): void;
  /** Takes one without a machine. */
  takeFree(): Promise<T> | undefined;
  /**
   * Calls `run` once the thread is gone. Only the `run` that was given last for a thread is called.
   */
  whenGone(thread: T, run: () => void): void;
  /** The number of those that start, live or end. */
  count(): number;
  /** The number of those without a machine. */
  countFree(): number;
  /** Time that the newest one took to start, ms. */
  startMs(): number;
  /** Resolves once something changes for a machine that waits for a thread. */
  change(): Promise<void>;
  /** Wakes machines that wait for a change. */
  changed(): void;
}

function openThreads<T extends Poolable>({ start, clock, background, lingerMs }: PoolOptions<T>): Threads<T> {
  /**
   * A thread serves any number of machines: its listener is replaced, so that nothing of earlier
   * machines is kept.
   */
  const listeners = new Map<T, () => void>();
  /** Threads without a machine, some of which still start. Each with what calls off its end. */
  const free = new Map<Promise<T>, () => void>();
  let news = Promise.withResolvers<void>();
  let threads = 0;
  let startMs = 0;

  function changed(): void {
    news.resolve();
    news = Promise.withResolvers();
  }

  function isGone(): void {
    threads--;
    changed();
  }

  function whenGone(thread: T, run: () => void): void {
    if (listeners.has(thread)) listeners.set(thread, run);
    else run();
  }

  function take(thread: Promise<T>): Promise<T> {
    free.get(thread)?.();
    free.delete(thread);
    return thread;
  }

  return {
    async begin() {
      const from = clock.monotonic();
      threads++;
      try {
        const thread = await start();
        startMs = clock.monotonic() - from;
        listeners.set(thread, () => {});
        void thread.gone.then(() => {
          const listener = listeners.get(thread);
          listeners.delete(thread);
          isGone();
          listener?.();
        });
        return thread;
      } catch (error) {
        isGone();
        throw error;
      }
    },
    keep(thread) {
      const forget = () => void take(thread);
      const end = () => {
        forget();
        void thread.then((started) => started.end()).catch(() => {});
      };
      free.set(thread, background.after(lingerMs, end));
      void thread.then((started) => {
        if (free.has(thread)) whenGone(started, forget);
      }, forget);
      changed();
    },
    takeFree() {
      const [thread] = free.keys();
      return thread && take(thread);
    },
    whenGone,
    count: () => threads,
    countFree: () => free.size,
    startMs: () => startMs,
    change: () => news.promise,
    changed,
  };
}

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
function openSeats<T extends Poolable>(
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
