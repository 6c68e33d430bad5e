import type { Poolable, PoolOptions } from "./pool.ts";

/** The threads of a pool, and those of them that have no machine. */
export type Threads<T extends Poolable> = ReturnType<typeof openThreads<T>>;

export function openThreads<T extends Poolable>({ start, clock, background, lingerMs }: PoolOptions<T>) {
  /** A thread serves any number of machines: its listener is replaced, so that nothing of earlier machines is kept. */
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

  /** `run` is called once the thread is gone. Only the `run` that was given last for a thread is called. */
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
    async begin(): Promise<T> {
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
    /** Lets a thread stay for the next machine, for `lingerMs`. */
    keep(thread: Promise<T>): void {
      const forget = () => void take(thread);
      const end = () => {
        forget();
        void thread.then((started) => started.end()).catch(() => {});
      };
      free.set(thread, background.after(lingerMs, end));
      void thread.then((started) => {
        started.hold(false);
        if (free.has(thread)) whenGone(started, forget);
      }, forget);
      changed();
    },
    /** One without a machine. */
    takeFree(): Promise<T> | undefined {
      const [thread] = free.keys();
      return thread && take(thread);
    },
    whenGone,
    /** Those that start, live or end. */
    count: () => threads,
    countFree: () => free.size,
    /** Time that the newest one took to start. */
    startMs: () => startMs,
    /** Resolves once something changes for a machine that waits for a thread. */
    change: () => news.promise,
    changed,
  };
}
