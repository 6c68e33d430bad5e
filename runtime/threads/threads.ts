import type { Poolable, PoolOptions } from "./pool.ts";

/** The threads of a pool, and those of them that have no machine. */
export interface Threads<T> {
  begin(): Promise<T>;
  /** Lets a thread stay for the next machine, for some time. */
  keep(thread: Promise<T>): void;
  /** One without a machine. */
  takeFree(): Promise<T> | undefined;
  /** `run` is called once the thread is gone. Only the `run` that was given last for a thread is called. */
  whenGone(thread: T, run: () => void): void;
  /** Those that start, live or end. */
  count(): number;
  countFree(): number;
  /** Time that the newest one took to start. */
  startMs(): number;
  /** Resolves once something changes for a machine that waits for a thread. */
  change(): Promise<void>;
  changed(): void;
}

export function openThreads<T extends Poolable>(
  options: Pick<PoolOptions<T>, "start" | "clock" | "background" | "lingerMs">,
): Threads<T> {
  const { start, clock } = options;
  const news = openNews();
  const gone = openListeners<T>();
  const free = openFree(options, gone);
  let threads = 0;
  let startMs = 0;

  return {
    async begin() {
      const from = clock.monotonic();
      threads++;
      const isGone = () => {
        threads--;
        news.changed();
      };
      try {
        const thread = await start();
        startMs = clock.monotonic() - from;
        gone.follow(thread, isGone);
        return thread;
      } catch (error) {
        isGone();
        throw error;
      }
    },
    keep(thread) {
      free.keep(thread);
      news.changed();
    },
    takeFree: free.take,
    whenGone: gone.whenGone,
    count: () => threads,
    countFree: free.count,
    startMs: () => startMs,
    ...news,
  };
}

/** Wakes whatever waits for a change. */
function openNews(): Pick<Threads<unknown>, "change" | "changed"> {
  let next = Promise.withResolvers<void>();
  return {
    change: () => next.promise,
    changed() {
      next.resolve();
      next = Promise.withResolvers();
    },
  };
}

/** A thread serves any number of machines: its listener is replaced, so that nothing of earlier machines is kept. */
function openListeners<T extends Poolable>() {
  const listeners = new Map<T, () => void>();
  return {
    whenGone(thread: T, run: () => void) {
      if (listeners.has(thread)) listeners.set(thread, run);
      else run();
    },
    /** Waits for the thread's end: `isGone` runs first, then the thread's listener. */
    follow(thread: T, isGone: () => void) {
      listeners.set(thread, () => {});
      void thread.gone.then(() => {
        const listener = listeners.get(thread);
        listeners.delete(thread);
        isGone();
        listener?.();
      });
    },
  };
}

/** Threads without a machine, some of which still start. Each is ended after `lingerMs`. */
function openFree<T extends Poolable>(
  { background, lingerMs }: Pick<PoolOptions<T>, "background" | "lingerMs">,
  { whenGone }: Pick<Threads<T>, "whenGone">,
) {
  /** Each with what calls off its end. */
  const free = new Map<Promise<T>, () => void>();

  function remove(thread: Promise<T>): void {
    free.get(thread)?.();
    free.delete(thread);
  }

  return {
    keep(thread: Promise<T>): void {
      const forget = () => remove(thread);
      const end = () => {
        forget();
        void thread.then((started) => started.end()).catch(() => {});
      };
      free.set(thread, background.after(lingerMs, end));
      void thread.then((started) => {
        started.hold(false);
        if (free.has(thread)) whenGone(started, forget);
      }, forget);
    },
    take(): Promise<T> | undefined {
      const [thread] = free.keys();
      if (thread) remove(thread);
      return thread;
    },
    count: () => free.size,
  };
}
