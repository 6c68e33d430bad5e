import { readConfig } from "../../config/index.ts";
import { RlmError } from "../../index.ts";
import { openRuns } from "../../jobs/index.ts";
import type { Models } from "../../model/index.ts";
import { inLine } from "../../platform/visible.ts";
import { type Change, type JobRow, type RunLimits, type RunRow, readablePart } from "../../store/index.ts";
import { limitsIn } from "../batch/asked.ts";
import { checkRunPrice } from "../batch/run-limits.ts";
import { runJson } from "../batch/run-state.ts";
import { openDispatcher } from "../batch/run-store.ts";
import { configPlaces, modelsOf } from "../session/settings.ts";
import { changedLines, HELD_UP } from "./changed-lines.ts";
import { type ChangeAsked, type JobsAsked, jobNamed, modelIn, printJson, runNamed, type Verb } from "./jobs-asked.ts";
import { jobsOf } from "./readable-jobs.ts";

/** Cancels, retries, pauses, resumes or drops a run, or jobs of it. Gives the exit code. @throws RlmError */
export async function changeRun(asked: JobsAsked, { verb, run: name, ids }: ChangeAsked): Promise<number> {
  const { store, terminal, json, place } = asked;
  if (verb === "rm") return removeRun(asked, name);
  const run = await runNamed(store, name, place);
  const named: JobRow[] = [];
  for (const id of ids) named.push(await jobNamed(asked, run, id, "; nothing was changed"));
  const typed = limitsIn(asked.args);
  checkRunPrice(typed, modelIn(run), modelsOfHost());
  const limits = raised(typed, run.limits);
  if (limits) await store.jobs.limit(run.id, limits);
  // Running jobs that nobody holds wait from now on, so that they can be given up.
  if (verb === "retry" && asked.own.fresh) await store.jobs.lapse(run.id);
  const [before, begun] = [await store.jobs.counts(run.id), await begunIn(asked, run, verb, named)];
  await using dispatcher = place.isServer ? await openDispatcher(place, run.queue, () => {}) : null;
  await openRuns(store).change(run, changeOf(verb, ids, asked), dispatcher?.dispatcher ?? null);
  const [after, counts] = [await runNamed(store, run.id, place), await store.jobs.counts(run.id)];
  if (json) printJson(asked, { run: runJson({ run: after, counts }) });
  else {
    const told = { run: after, before, begun, now: counts, isRaised: limits !== null, named };
    for (const line of changedLines(asked, verb, told)) terminal.stdout.write(`${inLine(line)}\n`);
  }
  return 0;
}

/** A run whose row is damaged is meant by its id alone. */
async function removeRun(asked: JobsAsked, typed: string): Promise<number> {
  const { store, terminal, json, place } = asked;
  const { found } = await readablePart(
    async (without) => (without.includes(typed) ? null : runNamed(store, typed, place)),
    () => store.jobs.damagedRuns(),
  );
  await store.jobs.remove(found?.id ?? typed);
  if (json) printJson(asked, { removed: found?.name ?? typed });
  else
    terminal.stdout.write(
      `removed ${inLine(found?.name ?? `the damaged run ${typed}`)} with the sessions of its jobs\n`,
    );
  return 0;
}

/** The line that works on the run may leave out the server that this host's settings name. */
function modelsOfHost(): Pick<Models, "price">[] {
  const settings = readConfig({}, configPlaces());
  const { base_url: _, ...elsewhere } = settings;
  return [settings, elsewhere].map((known) => {
    const models = modelsOf(known);
    return { price: (name) => priceOf(models, name) };
  });
}

/** A provider that nobody knows has no price either. */
function priceOf(models: Models, name: string | null): ReturnType<Models["price"]> {
  try {
    return models.price(name);
  } catch (error) {
    if (error instanceof RlmError && error.code === "no_model_configured") return null;
    throw error;
  }
}

/** The number of jobs that `retry --fresh` gives up: they were begun and wait, or are parked. */
async function begunIn(asked: JobsAsked, run: RunRow, verb: Verb, named: readonly JobRow[]): Promise<number> {
  if (verb !== "retry" || !asked.own.fresh) return 0;
  if (named.length > 0) return named.filter(isBegun).length;
  let begun = 0;
  const list = (from: number) => asked.store.jobs.list(run.id, { states: HELD_UP, from, limit: PAGE });
  for await (const job of jobsOf(list)) if (isBegun(job)) begun += 1;
  return begun;
}

const PAGE = 1000;
const isBegun = ({ state, begun_at }: JobRow) => HELD_UP.includes(state) && begun_at !== null;

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
