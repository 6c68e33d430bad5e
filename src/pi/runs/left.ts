/** A call that runs on in this process although Pi has left its session. */
interface LeftRun {
  readonly tool: string;
  /** Belay's session that it runs in; null before it has begun. */
  session(): string | null;
  /** Resolves when it has ended, and its session closed. */
  readonly done: Promise<void>;
  /** True if it is not finished, and continues when Pi comes back to its session. */
  isSuspended(): boolean;
  cancel(): boolean;
  suspend(): void;
}

interface Left {
  readonly runs: Set<LeftRun>;
  readonly listeners: Set<(over: LeftRun | null) => void>;
}

/** Pi loads the extension anew for each session, so that they are the process's own. */
const KEY = Symbol.for("belay-rlm.left-runs");
const ofProcess: typeof globalThis & { [KEY]?: Left } = globalThis;
ofProcess[KEY] ??= { runs: new Set(), listeners: new Set() };
const { runs, listeners } = ofProcess[KEY];

/** The calls that run on. */
export const leftRuns = (): readonly LeftRun[] => [...runs];

/** The call that runs on in this session of Belay's. */
export const leftRunIn = (session: string): LeftRun | undefined => leftRuns().find((run) => run.session() === session);

/** Keeps a call until it has ended. */
export function keepLeftRun(run: Omit<LeftRun, "done">, done: Promise<void>): void {
  const tell = (over: LeftRun | null) => {
    for (const listener of [...listeners]) listener(over);
  };
  const kept: LeftRun = {
    ...run,
    done: done.finally(() => {
      runs.delete(kept);
      tell(kept);
    }),
  };
  runs.add(kept);
  tell(null);
}

/**
 * Calls the listener when a call begins to run on, or has ended, until the returned function is
 * called. It must not throw.
 */
export function watchLeftRuns(listener: (over: LeftRun | null) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
