import * as v from "valibot";
import { isRecord } from "../platform/json.ts";
import type { Counts, JobPage, JobRow, Jobs } from "../store/index.ts";

/**
 * The fields that a job told of itself. A row may be damaged or hostile: any field may be anything.
 */
export const toldOf = ({ told }: JobRow) => (isRecord(told) ? told : {});

/** The warnings among these fields. */
export const jobWarnings = ({ warnings }: { readonly warnings?: unknown }) => [warnings ?? []].flat().map(String);

/** A provider's refusal of a call of a job, in its words. */
export interface Refusal {
  readonly job: string;
  readonly error_code: string;
  readonly error: string;
  readonly suggestion: string;
  /** ms since the epoch. */
  readonly at: number;
}

/** Failures that a provider's answer, or its absence, causes. */
const OF_PROVIDERS: ReadonlySet<unknown> = new Set([
  ...["provider_error", "rate_limited", "auth_failed", "no_credit", "auth_expired", "no_model_configured"],
]);

const text = v.fallback(v.string(), "");
const Refused = v.object({
  error_code: v.string(),
  error: text,
  suggestion: text,
  at: v.fallback(v.number(), 0),
});

/**
 * The last refusal of a job that is not over, or the one that it failed by; null: none is known.
 */
export function refusalOf(job: JobRow): Refusal | null {
  const told = toldOf(job);
  const isFailed = job.state === "failed" && OF_PROVIDERS.has(told.error_code);
  const read = v.safeParse(Refused, isFailed ? { ...told, at: job.ended_at } : told.refusal);
  return read.success ? { job: job.id, ...read.output } : null;
}

/** The newest of the refusals of jobs. */
function newestRefusal(jobs: readonly JobRow[]): Refusal | null {
  const found = jobs.map(refusalOf).filter((refusal) => refusal !== null);
  return found.reduce<Refusal | null>((last, one) => (last && last.at >= one.at ? last : one), null);
}

/** The jobs of each state that are looked at for the last refusal of a run. */
const REFUSED_LOOKED_AT = 100;

/** The last refusal that a run has met, as far as its first jobs of each state tell. */
export async function refusalOfRun(
  list: (page: JobPage) => Promise<readonly JobRow[]>,
  counts: Counts,
): Promise<Refusal | null> {
  const states = (["parked", "waiting", "running", "failed"] as const).filter((state) => counts[state] > 0);
  const found = await Promise.all(
    states.map((state) => list({ states: [state], from: 0, limit: REFUSED_LOOKED_AT }).catch(() => [])),
  );
  return newestRefusal(found.flat());
}

/** A refusal for programs, beside its job. */
export function refusalJson(refusal: Refusal | null): object | null {
  if (!refusal) return null;
  const { error_code, error, suggestion, at } = refusal;
  return { error_code, error, suggestion, at };
}

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
      // Errors of scripts differ by their words, and others by their code: their words name what
      // differs from job to job.
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

/**
 * Finds the most frequent reason while a run continues: the jobs are looked at again when more have
 * failed.
 */
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
