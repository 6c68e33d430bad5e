import { amount } from "../../figures.ts";
import { RlmError } from "../../index.ts";
import { openRuns } from "../../jobs/index.ts";
import type { Change, Counts, RunLimits, RunRow } from "../../store/index.ts";
import { limitsIn } from "../batch/asked.ts";
import { openDispatcher } from "../batch/dispatchers.ts";
import { runJson } from "../batch/standing-json.ts";
import { type JobsAsked, jobsLine, printJson, runNamed } from "./jobs-asked.ts";

export const VERBS = ["cancel", "retry", "pause", "resume", "out", "rm"] as const;
export type Verb = (typeof VERBS)[number];

export interface ChangeAsked {
  readonly verb: Exclude<Verb, "out">;
  readonly run: string;
  /** None: all of them. */
  readonly ids: readonly string[];
}

/** Cancels, retries, pauses, resumes or drops a run, or jobs of it. Gives the exit code. @throws RlmError */
export async function changeRun(asked: JobsAsked, { verb, run: name, ids }: ChangeAsked): Promise<number> {
  const { store, terminal, json, place } = asked;
  const run = await runNamed(store, name, place);
  await checkIds(asked, run, ids);
  const before = await store.jobs.counts(run.id);
  if (verb === "rm") {
    await store.jobs.remove(run.id);
    if (json) printJson(asked, { removed: run.name });
    else terminal.stdout.write(`removed ${run.name} with the sessions of its jobs\n`);
    return 0;
  }
  const limits = raised(limitsIn(asked.args), run.limits);
  if (limits) await store.jobs.limit(run.id, limits);
  await using dispatcher = place.isServer ? await openDispatcher(place, run.queue, () => {}) : null;
  await openRuns(store).change(run, changeOf(verb, ids, asked), dispatcher?.dispatcher ?? null);
  const [after, counts] = [await runNamed(store, run.id, place), await store.jobs.counts(run.id)];
  if (json) printJson(asked, { run: runJson({ run: after, counts }) });
  else for (const line of changedLines(asked, verb, after, before, counts)) terminal.stdout.write(`${line}\n`);
  return 0;
}

/** @throws RlmError `invalid_argument` before anything is changed */
async function checkIds(asked: JobsAsked, run: RunRow, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    if (await asked.store.jobs.find(run.id, id)) continue;
    throw new RlmError(
      "invalid_argument",
      `the run ${run.name} has no job ${JSON.stringify(id)}, so nothing was changed`,
      {
        suggestion: `\`${jobsLine(asked, run.name)}\` lists its jobs.`,
      },
    );
  }
}

function changeOf(verb: Exclude<Verb, "out" | "rm">, ids: readonly string[], { own }: JobsAsked): Change {
  const named = ids.length === 0 ? null : ids;
  switch (verb) {
    case "cancel":
      return { to: "cancel", ids: named };
    case "retry":
      // A job that was cancelled was not wanted; one that is named is.
      return {
        to: "retry",
        ids: named,
        states: named ? ["failed", "cancelled"] : ["failed"],
        fresh: own.fresh === true,
      };
    case "pause":
      return { to: "pause", why: null };
    case "resume":
      return { to: "resume" };
  }
}

/** null: no limit was named. */
function raised(named: RunLimits, before: RunLimits): RunLimits | null {
  if (named.nanodollars === null && named.tokens === null && named.sub_calls === null) return null;
  return {
    nanodollars: named.nanodollars ?? before.nanodollars,
    tokens: named.tokens ?? before.tokens,
    sub_calls: named.sub_calls ?? before.sub_calls,
  };
}

function changedLines(asked: JobsAsked, verb: ChangeAsked["verb"], run: RunRow, before: Counts, now: Counts): string[] {
  const wait = asked.place.isServer
    ? []
    : now.waiting > 0
      ? [`the line of belay batch that began ${run.name} continues it`]
      : [];
  switch (verb) {
    case "cancel": {
      const running = now.cancelling > 0 ? `; ${amount(now.cancelling, "running one")} will be within 10 s` : "";
      return [`${amount(now.cancelled - before.cancelled, "job")} cancelled${running}`];
    }
    case "retry":
      return [
        `${amount(before.failed + before.cancelled - now.failed - now.cancelled, "job")} will be tried again`,
        ...wait,
      ];
    case "pause":
      return [`${run.name} is paused; resume it: ${jobsLine(asked, "resume", run.name)}`];
    case "resume":
      return [`${run.name} is open, and ${amount(now.waiting, "job waits", "jobs wait")}`, ...wait];
    case "rm":
      return [];
  }
}
