import type { Clock } from "../clock.ts";

/** A thread that serves one machine at a time. */
export interface Poolable {
  /** Resolves once the thread is gone, however it ended. */
  readonly gone: Promise<void>;
  end(): Promise<void>;
}

export interface PoolOptions<T> {
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
export interface Threads<T extends Poolable> {
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

export function openThreads<T extends Poolable>({ start, clock, background, lingerMs }: PoolOptions<T>): Threads<T> {
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
