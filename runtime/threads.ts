import type { Poolable, PoolOptions } from "./pool.ts";

/** The threads of a pool, and those of them that have no machine. */
export interface Threads<T> {
  begin(): Promise<T>;
  /** Lets a thread stay for the next machine, for some time. */
  keep(thread: Promise<T>): void;
  /** One without a machine. */
  takeFree(): Promise<T> | undefined;
  /** `run` is called once the thread is gone: one for each thread, the last one that was given. */
  whenGone(thread: T, run: () => void): void;
  /** Those that start, live or end. */
  count(): number;
  countFree(): number;
  /** How long the newest one took to start. */
  startMs(): number;
  /** Resolves once something changes for a machine that waits for a thread. */
  change(): Promise<void>;
  changed(): void;
}

export function openThreads<T extends Poolable>(
  options: Pick<PoolOptions<T>, "start" | "clock" | "background" | "lingerMs">,
): Threads<T> {
  const { start, clock, background, lingerMs } = options;
  /** Threads without a machine, some of them still starting; each with what calls off its end. */
  const free = new Map<Promise<T>, () => void>();
  /** A thread serves machines without end: what hears of its end is replaced, so that nothing of earlier ones is kept. */
  const heirs = new Map<T, () => void>();
  let threads = 0;
  let startMs = 0;
  let next = Promise.withResolvers<void>();

  function changed(): void {
    next.resolve();
    next = Promise.withResolvers();
  }

  function whenGone(thread: T, run: () => void): void {
    if (heirs.has(thread)) heirs.set(thread, run);
    else run();
  }

  function follow(thread: T): void {
    heirs.set(thread, () => {});
    void thread.gone.then(() => {
      const heir = heirs.get(thread);
      heirs.delete(thread);
      threads--;
      heir?.();
      changed();
    });
  }

  async function begin(): Promise<T> {
    const from = clock.monotonic();
    threads++;
    try {
      const thread = await start();
      startMs = clock.monotonic() - from;
      follow(thread);
      return thread;
    } catch (error) {
      threads--;
      changed();
      throw error;
    }
  }

  function keep(thread: Promise<T>): void {
    const forget = () => {
      free.get(thread)?.();
      free.delete(thread);
    };
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
  }

  function takeFree(): Promise<T> | undefined {
    for (const [thread, stay] of free) {
      stay();
      free.delete(thread);
      return thread;
    }
    return undefined;
  }

  return {
    begin,
    keep,
    takeFree,
    whenGone,
    count: () => threads,
    countFree: () => free.size,
    startMs: () => startMs,
    change: () => next.promise,
    changed,
  };
}
