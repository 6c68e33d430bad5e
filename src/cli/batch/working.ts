import { setTimeout } from "node:timers/promises";
import { indexFolder } from "../../platform/home.ts";
import { type WorkerSession, type WorkOptions, work } from "../../runs/index.ts";
import type { Settings } from "../../settings/index.ts";
import { sessionOptions } from "../session/settings.ts";

interface WorkAsked extends Omit<WorkOptions, "session" | "signal" | "clock" | "childEntry"> {
  readonly settings: Settings;
  /** Models that jobs may ask; null: the model of each run, and those that its cells may name. */
  readonly models: readonly string[] | null;
}

/** The time within which jobs are suspended, ms. The process then ends without it: records are on disk anyway. */
const SUSPEND_MS = 4000;

/** The work of this process. */
export function startWorking({ settings, models, ...asked }: WorkAsked) {
  const over = new AbortController();
  const session = workerSession(settings, models);
  const working = work({ ...asked, session, signal: over.signal });
  const failed = new Promise<never>((_, reject) => working.catch(reject));
  // Whoever waits for `finish` alone is told there.
  failed.catch(() => {});
  return {
    /** Rejects if the work has failed; else it does not settle before the end. */
    failed,
    /**
     * Begins no further job; resolves when those that run are over. False: the user has asked for the end, and suspending them takes
     * too long. Rejects if the work has failed.
     */
    finish(stopped: AbortSignal): Promise<boolean> {
      over.abort();
      const finished = working.then(() => true);
      return stopped.aborted ? Promise.race([finished, setTimeout(SUSPEND_MS, false, { ref: false })]) : finished;
    },
  };
}

/** Options that this process gives to the sessions of jobs, by its own flags and settings. */
export function workerSession(settings: Settings, models: readonly string[] | null): WorkerSession {
  const { model: _, models: also, ...own } = sessionOptions(settings);
  const indexDir = indexFolder(process.env);
  return { ...own, cwd: process.cwd(), models, also, ...(indexDir === undefined ? {} : { indexDir }) };
}
