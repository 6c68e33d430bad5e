import { size } from "./size.ts";

/** One of those that are compared. */
export interface Contestant {
  readonly name: string;
  /** Does the work once and answers how long it took, ms; undefined if it was given up. */
  once(): Promise<number | undefined>;
}

/** What one contestant needed, ms. No samples: it was given up before the first one that counts. */
export interface Measured {
  readonly name: string;
  readonly samples: readonly number[];
  /** A run was given up; the contestant was not asked again. */
  readonly gaveUp: boolean;
}

export interface Turns {
  readonly rounds: number;
  /** First rounds that do not count. */
  readonly warmups: number;
  /** A contestant whose runs took longer than this in sum, ms, leaves once it has a sample. */
  readonly budgetMs?: number;
}

/**
 * Samples of all contestants in turn (A B C A B C …): what else the machine does hits all of them alike, so ratios can
 * be trusted further than milliseconds.
 */
export async function takeTurns(contestants: readonly Contestant[], turns: Turns): Promise<Measured[]> {
  const { budgetMs = Number.POSITIVE_INFINITY } = turns;
  const [rounds, warmups] = size([turns.rounds, turns.warmups], [1, 0]);
  const entries = contestants.map(({ name, once }) => ({ name, once, samples: [0].slice(1), spent: 0, gaveUp: false }));
  for (let round = 0; round < warmups + rounds; round++) {
    for (const entry of entries) {
      if (entry.gaveUp || (entry.spent > budgetMs && entry.samples.length > 0)) continue;
      const ms = await entry.once();
      if (ms === undefined) entry.gaveUp = true;
      else if (round >= warmups) entry.samples.push(ms);
      entry.spent += ms ?? 0;
    }
  }
  return entries.map(({ name, samples, gaveUp }) => ({ name, samples, gaveUp }));
}

/** ms of wall time until the work is done. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The middle sample, or the mean of the two in the middle; NaN if there is none. */
export function median(samples: readonly number[]): number {
  const sorted = ascending(samples);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? Number.NaN)) / 2;
}

/** The smallest sample that at least 95 of 100 do not exceed; NaN if there is none. */
export const p95 = (samples: readonly number[]) => percentile(samples, 95);

/** The smallest sample that at least 99 of 100 do not exceed; NaN if there is none. */
export const p99 = (samples: readonly number[]) => percentile(samples, 99);

function percentile(samples: readonly number[], percent: number): number {
  const sorted = ascending(samples);
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? Number.NaN;
}

function ascending(samples: readonly number[]): number[] {
  return [...samples].sort((a, b) => a - b);
}
