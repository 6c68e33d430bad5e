import type { JobKey } from "../store/index.ts";

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
        // What was on its way when the job went back says nothing of the time since.
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
      const isPaused = code === AT_ONCE || trouble.count >= IN_A_ROW || jobs.size >= IN_A_ROW;
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
