import type { Clock } from "../clock.ts";
import { openSeats, type Seat } from "./seats.ts";
import { openThreads, type Poolable, type PoolOptions } from "./threads.ts";

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
      const found = threads.takeFree();
      if (found) return found;
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
