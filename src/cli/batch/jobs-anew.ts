import { RlmError } from "../../index.ts";
import type { Runs } from "../../jobs/index.ts";
import { amount } from "../../platform/figures.ts";
import type { JobState, KnownJob } from "../../store/index.ts";
import type { AskedRun } from "./asked.ts";

/**
 * Ids of known jobs that are run again with what is asked of them now: those that the flags name.
 * @param hasContexts a context may have changed too
 * @throws RlmError `run_differs` if other inputs have changed, `session_busy` if a changed job is being tried
 */
export async function jobsAnew(
  { own, jobs, line }: Pick<AskedRun, "own" | "jobs" | "line">,
  known: ReturnType<Runs["known"]>,
  hasContexts: boolean,
): Promise<ReadonlySet<string>> {
  const anew = new Set<string>();
  const [changed, tried] = [openNames(), openNames()];
  for await (const { id, job } of known) {
    if (job === null) continue;
    if (isWanted(own, job)) anew.add(id);
    else if (job.isChanged) (own.retryChanged ? tried : changed).add(id);
  }
  if (tried.count > 0) {
    throw new RlmError("session_busy", `${changedText(tried, jobs, hasContexts)}, and each is being tried`, {
      suggestion: "Wait until they are over, or cancel them: belay jobs cancel RUN ID.",
    });
  }
  if (changed.count === 0) return anew;
  throw new RlmError("run_differs", `${changedText(changed, jobs, hasContexts)}; nothing was written`, {
    suggestion: `Run what has changed again: \`${line("--retry-changed")}\`. --new begins another run, and --name NAME gives it a name.`,
  });
}

function isWanted({ retryFailed, retryCancelled, retryChanged }: AskedRun["own"], { state, isChanged }: KnownJob) {
  if (TRIED.includes(state)) return false;
  return (
    (retryFailed && state === "failed") || (retryCancelled && state === "cancelled") || (retryChanged && isChanged)
  );
}

const TRIED: readonly JobState[] = ["running", "cancelling"];

/** A run may have a million jobs: so many of them are named. */
const NAMED = 5;

interface Names {
  readonly count: number;
  readonly text: string;
  add(id: string): void;
}

function openNames(): Names {
  const first: string[] = [];
  let count = 0;
  return {
    get count() {
      return count;
    },
    get text() {
      const more = count > first.length ? ` and ${(count - first.length).toLocaleString("en-US")} more` : "";
      return `${first.join(", ")}${more}`;
    },
    add(id) {
      count += 1;
      if (first.length < NAMED) first.push(id);
    },
  };
}

function changedText({ count, text }: Names, jobs: string, hasContexts: boolean): string {
  const what = hasContexts
    ? amount(count, "input or its context", "inputs or their contexts")
    : amount(count, "input", "inputs");
  return `--jobs ${jobs}: ${what} changed since: ${text}`;
}
