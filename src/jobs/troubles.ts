/**
 * Failures of calls that are no fault of a job: a wrong key, a dead server, an unknown model. A job that meets one goes back as it
 * is, unless calls of other jobs have been answered since it went back for one before: then the failure is its own.
 */
export interface Troubles {
  /** A model has answered a call of the run. */
  answered(run: string): void;
  /** Whether the failure is to reach the job's cell. */
  isOwn(job: { readonly run: string; readonly n: number }): boolean;
  /** The job goes back. True: as many went back in a row, for the same reason, as pause a run. */
  wentBack(job: { readonly run: string; readonly n: number }, code: string): boolean;
}

/** So many equal failures in a row pause a run. */
const IN_A_ROW = 3;

interface Trouble {
  readonly code: string;
  readonly count: number;
  /** Numbers of the jobs that went back, and of those among them since when a call was answered. */
  readonly back: ReadonlySet<number>;
  readonly own: ReadonlySet<number>;
}

const NONE: Trouble = { code: "", count: 0, back: new Set(), own: new Set() };

export function openTroubles(): Troubles {
  const runs = new Map<string, Trouble>();
  return {
    answered(run) {
      const trouble = runs.get(run);
      if (!trouble || trouble.count === 0) return;
      runs.set(run, { ...trouble, count: 0, back: new Set(), own: new Set([...trouble.own, ...trouble.back]) });
    },
    isOwn: ({ run, n }) => runs.get(run)?.own.has(n) ?? false,
    wentBack({ run, n }, code) {
      const { back, own, ...known } = runs.get(run) ?? NONE;
      const count = known.code === code ? known.count + 1 : 1;
      if (count >= IN_A_ROW) return runs.delete(run);
      runs.set(run, { code, count, back: new Set([...back, n]), own });
      return false;
    },
  };
}

interface Reason {
  readonly code: string;
  readonly message: string;
  readonly suggestion: string;
}

/** An error with its cure, as the reason of a pause. */
export function reasonOf({ code, message, suggestion }: Reason): string {
  return `${code}: ${message}. ${suggestion}`;
}
