import * as v from "valibot";
import { isAgentModel } from "../platform/agent-commands.ts";
import { isRecord } from "../platform/json.ts";
import type { Counts, JobKey, JobPage, JobRow, Jobs } from "../store/index.ts";

/**
 * Failures of calls that no job causes: no credit, a wrong key, a dead server, an unknown model. A
 * job that meets one goes back as it is, unless calls of other jobs have been sent and answered
 * since it went back for one before: then the failure is its own.
 */
export interface Troubles {
  /** Gives a mark for a request that is sent now. */
  mark(): number;
  /** Notes that a model has answered a call of the run, whose request has the mark. */
  answered(run: string, model: string, mark: number): void;
  /** Notes that a job of the run is done. */
  done(run: string): void;
  /** True if the failure is to reach the job's cell. */
  isOwn(key: JobKey, code: string): boolean;
  /**
   * Notes that the job goes back. True if the run is to be paused: as many jobs went back in a row
   * for the same reason, or for the same model while it answered nothing and no job was done,
   * whatever other models answered.
   */
  wentBack(key: JobKey, code: string, model: string): boolean;
  /**
   * Pauses a run, unless that is under way: of jobs that go back at the same time one pauses it.
   */
  pausing(run: string, pause: () => Promise<void>): Promise<void>;
}

/** The number of equal failures in a row that pause a run. */
const IN_A_ROW = 3;
/**
 * An account without credit refuses every call: one failure pauses a run, and is never a job's own.
 * So does an agent that a person has to look after.
 */
const AT_ONCE = "no_credit";

interface Trouble {
  code: string;
  count: number;
  /**
   * Jobs that went back, by number, with the marks at which they did; and those since when a call
   * was sent and answered.
   */
  readonly back: Map<number, number>;
  readonly own: Set<number>;
  /**
   * Numbers of the jobs that went back for each model, for one reason, since it answered or a job
   * was done.
   */
  readonly silent: Map<string, { readonly code: string; readonly jobs: Set<number> }>;
}

export function openTroubles(): Troubles {
  const runs = new Map<string, Trouble>();
  const pausing = new Set<string>();
  let marks = 0;
  return {
    mark: () => ++marks,
    answered(run, model, mark) {
      const trouble = runs.get(run);
      if (!trouble) return;
      trouble.count = 0;
      for (const [n, at] of trouble.back) {
        // A request that was out when the job went back says nothing about the time since.
        if (mark < at) continue;
        trouble.own.add(n);
        trouble.back.delete(n);
      }
      trouble.silent.delete(model);
    },
    done(run) {
      runs.get(run)?.silent.clear();
    },
    isOwn: ({ run, n }, code) => code !== AT_ONCE && (runs.get(run)?.own.has(n) ?? false),
    wentBack({ run, n }, code, model) {
      const trouble = runs.get(run) ?? {
        code,
        count: 0,
        back: new Map<number, number>(),
        own: new Set(),
        silent: new Map(),
      };
      const before = trouble.silent.get(model);
      const jobs = before?.code === code ? before.jobs : new Set<number>();
      jobs.add(n);
      trouble.silent.set(model, { code, jobs });
      trouble.back.set(n, ++marks);
      trouble.count = trouble.code === code ? trouble.count + 1 : 1;
      trouble.code = code;
      runs.set(run, trouble);
      const isPaused = code === AT_ONCE || isAgentModel(model) || trouble.count >= IN_A_ROW || jobs.size >= IN_A_ROW;
      return isPaused && runs.delete(run);
    },
    async pausing(run, pause) {
      if (pausing.has(run)) return;
      pausing.add(run);
      await pause().finally(() => pausing.delete(run));
    },
  };
}

/** An error with its cure. */
export interface Reason {
  readonly code: string;
  readonly message: string;
  readonly suggestion: string;
}

/** An error as the reason of a pause. */
export function reasonOf({ code, message, suggestion }: Reason): string {
  return `${code}: ${message}. ${suggestion}`;
}

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
  const report = toldOf(job);
  const isFailed = job.state === "failed" && OF_PROVIDERS.has(report.error_code);
  const read = v.safeParse(Refused, isFailed ? { ...report, at: job.ended_at } : report.refusal);
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
export interface CountedReason {
  readonly error_code: string;
  /** The message of the first of them. */
  readonly error: string;
  readonly count: number;
}

/** Gathers the reasons why jobs have failed. */
export function openReasons() {
  const found = new Map<string, CountedReason>();
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
    all: (): readonly CountedReason[] => [...found.values()].sort((a, b) => b.count - a.count),
  };
}

/** The number of failed jobs that are looked at. */
const LOOKED_AT = 1000;

/** The most frequent reason. */
export interface TopReason extends CountedReason {
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
