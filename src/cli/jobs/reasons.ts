import type { JobRow, Jobs } from "../../store/index.ts";
import { toldOf } from "./refusals.ts";

/** A reason why jobs have failed, and the number of those jobs. */
export interface Reason {
  readonly error_code: string;
  /** The message of the first of them. */
  readonly error: string;
  readonly count: number;
}

/** Gathers the reasons why jobs have failed. */
export function openReasons() {
  const found = new Map<string, Reason>();
  return {
    add(job: JobRow): void {
      if (job.state !== "failed") return;
      const { error_code, error } = toldOf(job);
      const reason = { error_code: String(error_code ?? "unknown"), error: String(error ?? "") };
      // Errors of scripts differ by their words, and others by their code: their words name what differs from job to job.
      const key = reason.error_code === "js_error" ? `js_error ${reason.error}` : reason.error_code;
      const known = found.get(key) ?? { ...reason, count: 0 };
      found.set(key, { ...known, count: known.count + 1 });
    },
    /** The most frequent first. */
    all: (): readonly Reason[] => [...found.values()].sort((a, b) => b.count - a.count),
  };
}

/** The number of failed jobs that are looked at. */
const LOOKED_AT = 1000;

/** The most frequent reason. */
export interface TopReason extends Reason {
  /** Failed jobs whose provider filters what they ask. */
  readonly filtered: number;
}

/** Finds the most frequent reason while a run goes on: the jobs are looked at again when more have failed. */
export function openTopReason(jobs: Pick<Jobs, "list">, run: string): (failed: number) => Promise<TopReason | null> {
  let seen = 0;
  let top: TopReason | null = null;
  return async (failed) => {
    if (failed === seen) return top;
    seen = failed;
    const reasons = openReasons();
    // A damaged row is named by `belay jobs`, and does not end the following.
    const looked = await jobs.list(run, { states: ["failed"], from: 0, limit: LOOKED_AT }).catch(() => []);
    for (const job of looked) reasons.add(job);
    const [first] = reasons.all();
    const filtered = reasons.all().find(({ error_code }) => error_code === "content_filtered")?.count ?? 0;
    top = first ? { ...first, filtered } : null;
    return top;
  };
}
