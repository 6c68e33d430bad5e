import * as v from "valibot";
import { isRecord } from "../../platform/json.ts";
import { cutText } from "../../platform/visible.ts";
import type { Counts, JobPage, JobRow } from "../../store/index.ts";

/** The fields that a job told of itself. A row may be damaged or hostile: any field may be anything. */
export const toldOf = ({ told }: JobRow) => (isRecord(told) ? told : {});

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

/** The last refusal of a job that is not over, or the one that it failed by; null: none is known. */
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

/** `rate_limited: openai/gpt-6-sol: 429 You exceeded your current quota`, on one line. @param units of the words at most */
export const failureText = ({ error_code, error }: Pick<Refusal, "error_code" | "error">, units = WHY_UNITS) =>
  error === "" ? error_code : `${error_code}: ${oneLine(error, units)}`;

/** A refusal for programs, beside its job. */
export function refusalJson(refusal: Refusal | null): object | null {
  if (!refusal) return null;
  const { error_code, error, suggestion, at } = refusal;
  return { error_code, error, suggestion, at };
}

/** A text on one line; one of more units ends with `…`. */
export function oneLine(text: string, units: number): string {
  return cutText(text.replaceAll(/\s+/g, " "), units);
}

export const WHY_UNITS = 200;
