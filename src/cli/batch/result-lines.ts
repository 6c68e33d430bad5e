import type { JobState, Jobs } from "../../store/index.ts";
import { resultLine } from "./result-line.ts";

export interface ResultsAsked {
  /** The run's id. */
  readonly run: string;
  readonly jobs: Pick<Jobs, "list" | "result">;
  /** As they end, not in the order of the jobs. */
  readonly unordered: boolean;
}

/** Results of a run as lines, of jobs that are over. */
export interface ResultLines {
  /** Lines that have not been given yet. */
  next(): AsyncIterable<string>;
}

const FINAL: readonly JobState[] = ["done", "failed", "cancelled"];
const PAGE = 1000;

export function openResultLines({ run, jobs, unordered }: ResultsAsked): ResultLines {
  /** Of those before it, each line was given; of those behind it, these. */
  let first = 0;
  const beyond = new Set<number>();
  const states = unordered ? { states: FINAL } : {};
  return {
    async *next() {
      for (let from = first; ; ) {
        const page = await jobs.list(run, { from, limit: PAGE, ...states });
        for (const job of page) {
          const isOver = FINAL.includes(job.state);
          if (!isOver) return;
          if (job.n >= first && !beyond.has(job.n)) {
            yield `${resultLine(job, job.state === "done" ? await jobs.result(job) : null)}\n`;
            beyond.add(job.n);
          }
          while (beyond.delete(first)) first += 1;
        }
        const last = page.at(-1);
        if (!last) return;
        from = last.n + 1;
      }
    },
  };
}
