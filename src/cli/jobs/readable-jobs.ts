import { type DamagedRow, type Jobs, readablePart } from "../../store/index.ts";

/** Reads of the jobs of one run that leave out those whose rows are damaged. */
export interface ReadableJobs {
  read<Found>(work: (without: readonly string[]) => Promise<Found>): Promise<Found>;
  /** Those that the reads have left out. */
  damaged(): readonly DamagedRow[];
}

export function openReadableJobs(jobs: Pick<Jobs, "damaged">, run: string): ReadableJobs {
  let left: readonly DamagedRow[] = [];
  return {
    async read(work) {
      if (left.length > 0) return work(left.map(({ id }) => id));
      const { found, damaged } = await readablePart(work, () => jobs.damaged(run));
      left = damaged;
      return found;
    },
    damaged: () => left,
  };
}
