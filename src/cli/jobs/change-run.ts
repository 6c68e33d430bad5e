import { amount } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import { FINAL, HELD_UP, jobsOf, modelOfRun, openDispatcher, runJson, runsIn } from "../../runs/index.ts";
import {
  type Change,
  type Counts,
  type JobPage,
  type JobRow,
  type JobState,
  type RunRow,
  readablePart,
} from "../../store/index.ts";
import { jobsLine } from "../batch/run-command.ts";
import { checkRunPrice, modelsOfHost } from "../batch/run-limits.ts";
import { givenIn } from "../flags/arguments.ts";
import { RUN_LIMITS, type Verb } from "../flags/runs.ts";
import { cancelBatches } from "../session/settings.ts";
import { type JobsRequest, jobNamed, printJson, runNamed } from "./jobs-request.ts";

/**
 * Cancels, retries, pauses, resumes or drops a run, or jobs of it (no ids: all). Gives the exit
 * code.
 *
 * @throws RlmError
 */
export async function changeRun(asked: JobsRequest, verb: Exclude<Verb, "out">, name: string, ids: readonly string[]) {
  const { store, terminal, json, place } = asked;
  if (verb === "rm") return removeRun(asked, name);
  const run = await runNamed(store, name, place);
  const named: JobRow[] = [];
  for (const id of ids) named.push(await jobNamed(asked, run, id, "; nothing was changed"));
  const limits = givenIn(asked.args, RUN_LIMITS);
  checkRunPrice(limits.nanodollars ?? null, modelOfRun(run), modelsOfHost());
  const isRaised = Object.keys(limits).length > 0;
  if (isRaised) await store.jobs.limit(run.id, { ...run.limits, ...limits });
  // Running jobs that nobody holds wait from now on, so that they can be given up.
  if (verb === "retry" && asked.own.fresh) await store.jobs.lapse(run.id);
  const before = await store.jobs.counts(run.id);
  const begun = await begunIn(asked, run, verb, named);
  await using dispatcher = place.isServer ? await openDispatcher(place.place, run.queue, () => {}) : null;
  await runsIn(store).change(run, changeOf(verb, ids, asked), dispatcher);
  if (verb === "cancel") await cancelBatches(store, terminal);
  const after = await runNamed(store, run.id, place);
  const now = await store.jobs.counts(run.id);
  if (json) printJson(asked, { run: runJson({ run: after, counts: now }) });
  else {
    const lines = changedLines(asked, verb, { name: after.name, before, begun, now, isRaised, named });
    for (const line of lines) terminal.stdout.line(line);
  }
  return 0;
}

/** A run whose row is damaged is meant by its id alone. */
async function removeRun(asked: JobsRequest, typed: string): Promise<number> {
  const { store, terminal, json, place } = asked;
  const { found } = await readablePart(
    async (without) => (without.includes(typed) ? null : runNamed(store, typed, place)),
    () => store.jobs.damagedRuns(),
  );
  await store.jobs.remove(found?.id ?? typed, { discard: asked.own.discard === true });
  await cancelBatches(store, terminal);
  const label = inLine(found?.name ?? `the damaged run ${typed}`);
  if (json) printJson(asked, { removed: found?.name ?? typed });
  else terminal.stdout.write(`removed ${label} with the sessions of its jobs\n`);
  return 0;
}

/** The number of jobs that `retry --fresh` gives up: they were begun and wait, or are parked. */
async function begunIn(asked: JobsRequest, run: RunRow, verb: Verb, named: readonly JobRow[]): Promise<number> {
  if (verb !== "retry" || !asked.own.fresh) return 0;
  if (named.length > 0) return named.filter(isBegun).length;
  let begun = 0;
  const list = (page: JobPage) => asked.store.jobs.list(run.id, { ...page, states: HELD_UP });
  for await (const job of jobsOf(list)) if (isBegun(job)) begun += 1;
  return begun;
}

const isBegun = ({ state, begun_at }: JobRow) => HELD_UP.includes(state) && begun_at !== null;

function changeOf(verb: Exclude<Verb, "out" | "rm">, ids: readonly string[], { own }: JobsRequest): Change {
  const named = ids.length === 0 ? null : ids;
  const changes: Readonly<Record<typeof verb, Change>> = {
    cancel: { to: "cancel", ids: named },
    // A job that was cancelled was not wanted; one that is named is.
    retry: { to: "retry", ids: named, states: named ? ["failed", "cancelled"] : ["failed"], fresh: own.fresh === true },
    pause: { to: "pause", why: null },
    resume: { to: "resume" },
  };
  return changes[verb];
}

/** The state of a run before and after a change. */
interface Changed {
  readonly name: string;
  readonly before: Counts;
  /** Jobs that were begun and have been given up. */
  readonly begun: number;
  readonly now: Counts;
  /** True if it has other limits now. */
  readonly isRaised: boolean;
  /** The named jobs, as they were before. */
  readonly named: readonly JobRow[];
}

/** Lines that tell people of a change. */
function changedLines(asked: JobsRequest, verb: Exclude<Verb, "out" | "rm">, changed: Changed): string[] {
  const { name, before, begun, now, named, isRaised } = changed;
  const line = `the line of belay batch that began ${name} continues it`;
  // In a folder that line says what the limits are.
  const wait =
    asked.place.isServer || now.waiting === 0 ? [] : [isRaised ? `${line}; name the new limit there too` : line];
  switch (verb) {
    case "cancel": {
      const running = now.cancelling > 0 ? `; ${amount(now.cancelling, "running one")} will be within 10 s` : "";
      return [`${amount(now.cancelled - before.cancelled, "job")} cancelled${running}`, ...asTheyWere(named, FINAL)];
    }
    case "retry":
      return [
        `${amount(before.failed + before.cancelled - now.failed - now.cancelled + begun, "job")} will be tried again`,
        ...asTheyWere(named, asked.own.fresh ? ["done", "running", "cancelling"] : ["done", ...HELD_UP, "running"]),
        ...wait,
      ];
    case "pause":
      return [`${name} is paused; resume it: ${jobsLine(asked, "resume", name)}`];
    case "resume":
      return [`${name} is open, and ${amount(now.waiting, "job waits", "jobs wait")}`, ...wait];
  }
}

/** Jobs that were named, and that the change does not concern. */
function asTheyWere(named: readonly JobRow[], states: readonly JobState[]): string[] {
  return named.filter(({ state }) => states.includes(state)).map(({ id, state }) => `${id} is ${state}, and stays so`);
}
