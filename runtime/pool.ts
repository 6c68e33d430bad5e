import type { Clock } from "./clock.ts";

/** A thread that serves one machine at a time. */
export interface Poolable {
  /** Resolves once the thread is gone, however it ended. */
  readonly gone: Promise<void>;
  /** Keeps the process alive, or lets it end. */
  hold(on: boolean): void;
  end(): Promise<void>;
}

/** The place of one machine in a pool: its thread, and what the machine does at the moment. */
export interface Seat<T> {
  readonly thread: T;
  /** The machine is open: the next one may be opened. */
  opened(): void;
  /** The machine does nothing until an answer comes, or goes on. */
  waits(on: boolean): void;
  /** Nobody uses the machine. `giveUp` is called after `ms`, at once for 0, or earlier if its thread is needed; it calls `leave`. */
  rest(giveUp: () => Promise<void>, ms: number): void;
  /** The machine is used again. */
  wake(): void;
  /** The machine is gone. A thread that is `reusable` serves another one; any other is ended. */
  leave(reusable: boolean): Promise<void>;
}

/**
 * The threads of machines. As many machines open at once as there are cores; an open one takes no place of that gate, so
 * that a machine can wait for another one. Beyond `kept` threads a new machine takes the thread of a resting one, or
 * waits a moment for a working one to end; only then the pool grows.
 */
export interface Pool<T> {
  take(): Promise<Seat<T>>;
  /** Starts a thread if none is there for the next machine. Never rejects. */
  warm(): void;
}

export interface PoolOptions<T> {
  start(): Promise<T>;
  readonly clock: Clock;
  /** Timers that let the process end. */
  readonly background: Pick<Clock, "after">;
  /** How many machines open at once. */
  readonly cores: number;
  /** Threads up to this number are started as needed and kept for the next machine. */
  readonly kept: number;
  /** How long a thread without a machine stays, ms. */
  readonly lingerMs: number;
}

type State = "opening" | "working" | "waiting" | "resting" | "left";

/**
 * How long a machine waits for the thread of a working one, ms: longer than a short cell takes. Where starting a thread
 * takes longer, the machine waits as long as that: with busy cores a thread more would make all of them slower.
 */
const PATIENCE_MS = 100;

export function openPool<T extends Poolable>(options: PoolOptions<T>): Pool<T> {
  const { start, clock, background, cores, kept, lingerMs } = options;
  /** Threads without a machine, some of them still starting; each with what calls off its end. */
  const free = new Map<Promise<T>, () => void>();
  /** The longest resting one first. */
  const resting = new Map<Seat<T>, () => Promise<void>>();
  const states = new Map<Seat<T>, State>();
  let threads = 0;
  let opening = 0;
  /** How long the newest thread took to start. */
  let startMs = 0;
  let changed = () => {};
  let change = nextChange();
  const gate: (() => void)[] = [];

  function nextChange(): Promise<void> {
    return new Promise((resolve) => {
      changed = () => {
        change = nextChange();
        resolve();
      };
    });
  }

  async function begin(): Promise<T> {
    const from = clock.monotonic();
    threads++;
    try {
      const thread = await start();
      startMs = clock.monotonic() - from;
      void thread.gone.then(() => {
        threads--;
        changed();
      });
      return thread;
    } catch (error) {
      threads--;
      changed();
      throw error;
    }
  }

  function keep(thread: Promise<T>): void {
    const end = () => {
      free.delete(thread);
      void thread.then((started) => started.end()).catch(() => {});
    };
    free.set(thread, background.after(lingerMs, end));
    void thread.then(
      (started) => {
        started.hold(false);
        void started.gone.then(() => free.delete(thread));
      },
      () => free.delete(thread),
    );
    changed();
  }

  /** One without a machine. */
  function takeFree(): Promise<T> | undefined {
    for (const [thread, stay] of free) {
      stay();
      free.delete(thread);
      return thread;
    }
    return undefined;
  }

  async function giveUpOldest(): Promise<void> {
    for (const [seat, giveUp] of resting) {
      seat.wake();
      await giveUp();
      return;
    }
  }

  /** Threads that start, open a machine, run one or end. */
  function busy(): number {
    const atRest = [...states.values()].filter((state) => state === "waiting" || state === "resting");
    return threads - free.size - atRest.length;
  }

  async function takeThread(): Promise<T> {
    const until = clock.monotonic() + Math.max(PATIENCE_MS, startMs);
    for (;;) {
      const left = until - clock.monotonic();
      const found = takeFree();
      if (found) return found;
      if (threads < kept) return begin();
      if (resting.size > 0) await giveUpOldest();
      else if (busy() >= cores && left > 0) await soon(change, left);
      else return begin();
    }
  }

  async function soon(awaited: Promise<void>, ms: number): Promise<void> {
    let callOff = () => {};
    await Promise.race([awaited, new Promise<void>((resolve) => (callOff = clock.after(ms, resolve)))]);
    callOff();
  }

  async function turnToOpen(): Promise<void> {
    if (opening >= cores) await new Promise<void>((resolve) => gate.push(resolve));
    else opening++;
  }

  /** The place at the gate goes to the one that has waited longest. */
  function endTurn(): void {
    const next = gate.shift();
    if (next) next();
    else opening--;
  }

  function seatOf(thread: T): Seat<T> {
    let callOff = () => {};
    const set = (state: State) => {
      if (!states.has(seat)) return;
      if (states.get(seat) === "opening") {
        endTurn();
        thread.hold(false);
      }
      callOff();
      resting.delete(seat);
      if (state === "left") states.delete(seat);
      else states.set(seat, state);
      changed();
    };
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
        if (threads > kept) void giveUpOldest();
      },
      wake: () => set("working"),
      async leave(reusable) {
        if (!states.has(seat)) return;
        set("left");
        if (reusable && threads <= kept) keep(Promise.resolve(thread));
        else await thread.end();
      },
    };
    states.set(seat, "opening");
    thread.hold(true);
    void thread.gone.then(() => set("left"));
    return seat;
  }

  return {
    async take() {
      await turnToOpen();
      try {
        return seatOf(await takeThread());
      } catch (error) {
        endTurn();
        throw error;
      }
    },
    warm() {
      if (free.size === 0 && threads < kept) keep(begin());
    },
  };
}
