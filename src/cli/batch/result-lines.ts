import { escapedJson, jsonText } from "../../platform/visible.ts";
import type { JobRow, JobState, Jobs } from "../../store/index.ts";
import { attemptsOf, toldOf } from "../jobs/readable-jobs.ts";

/** Which jobs are meant. */
export interface FinalJobs {
  /** The run's id. */
  readonly run: string;
  readonly jobs: Pick<Jobs, "input" | "list" | "result">;
  /** The numbers of the jobs, in the order of their results; null: all jobs of the run, in their order. */
  readonly order: readonly number[] | null;
}

export interface ResultsAsked extends FinalJobs {
  /** True if results come as jobs end, not in their order. */
  readonly unordered: boolean;
}

const FINAL: readonly JobState[] = ["done", "failed", "cancelled"];
const PAGE = 100;

export const isOver = (state: JobState) => FINAL.includes(state);

/** Results of a run as lines, of jobs that are over. */
export function openResultLines(asked: ResultsAsked) {
  /** The first line that was not given; those of `beyond` were. */
  let first = 0;
  const beyond = new Set<number>();
  return {
    /** Lines that have not been given yet. */
    async *next(): AsyncIterable<string> {
      for (let from: number | null = first; from !== null; ) {
        const page: Page = await readPage(asked, from);
        for (const { at, job } of page.jobs) {
          if (!isOver(job.state)) return;
          if (at >= first && !beyond.has(at)) {
            yield `${resultLine(job, job.state === "done" ? await asked.jobs.result(job) : null)}\n`;
            beyond.add(at);
          }
          while (beyond.delete(first)) first += 1;
        }
        from = page.next;
      }
    },
  };
}

/** Jobs that are over now, in their order. */
export async function* finalJobs(asked: FinalJobs): AsyncIterable<JobRow> {
  for (let from: number | null = 0; from !== null; ) {
    const page: Page = await readPage({ ...asked, unordered: true }, from);
    yield* page.jobs.map(({ job }) => job);
    from = page.next;
  }
}

interface Page {
  /** Jobs, each with its place among the results. */
  readonly jobs: readonly { readonly at: number; readonly job: JobRow }[];
  /** The place from which the next page is read; null: this is the last one. */
  readonly next: number | null;
}

/** A page may end before its limit: then what follows is on the next one. */
async function readPage({ run, jobs, order, unordered }: ResultsAsked, from: number): Promise<Page> {
  const states = unordered ? { states: FINAL } : {};
  if (order?.length === 0) return { jobs: [], next: null };
  if (order === null) {
    const page = await jobs.list(run, { from, limit: PAGE, ...states });
    const last = page.at(-1);
    return { jobs: page.map((job) => ({ at: job.n, job })), next: last ? last.n + 1 : null };
  }
  const among = risingIn(order, from);
  const page = await jobs.list(run, { from: among[0] ?? 0, limit: PAGE, among, ...states });
  const places = new Map(among.map((n, index) => [n, from + index]));
  const found = page.flatMap((job) => {
    const at = places.get(job.n);
    return at === undefined ? [] : [{ at, job }];
  });
  const next = (found.at(-1)?.at ?? from + among.length - 1) + 1;
  return { jobs: found, next: next < order.length ? next : null };
}

/** The numbers from this place on, up to a page, as far as they rise. Lists are in the order of numbers. */
function risingIn(order: readonly number[], from: number): readonly number[] {
  let to = from + 1;
  while (to < order.length && to - from < PAGE && (order[to] ?? 0) > (order[to - 1] ?? 0)) to += 1;
  return order.slice(from, to);
}

/** The line of a job that is over, without its end. @param result JSON of what its cell gave; null: it gave nothing */
export function resultLine(job: JobRow, result: string | null): string {
  const told = toldOf(job);
  const before = { job: job.id, n: job.n, status: job.state };
  const after = {
    // They are left out where they are undefined.
    error_code: told.error_code,
    error: told.error,
    suggestion: told.suggestion,
    warnings: told.warnings,
    output: told.output ?? "",
    sub_calls: told.sub_calls ?? 0,
    tokens: told.tokens ?? 0,
    cost_usd: told.cost_usd ?? 0,
    ms: told.ms ?? 0,
    attempts: attemptsOf(job),
    resumed: told.resumed ?? 0,
    session: job.session,
  };
  return `${jsonText(before).slice(0, -1)},"result":${escapedJson(onOneLine(result ?? "null"))},${jsonText(after).slice(1)}`;
}

/** Between the tokens of JSON a line's end means nothing, and within a string it cannot stand. */
const onOneLine = (json: string) => json.replaceAll(/[\r\n]/g, " ");
