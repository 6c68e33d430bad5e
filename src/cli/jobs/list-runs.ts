import { age, amount, compact, dollars } from "../../platform/figures.ts";
import {
  costsByDay,
  type DayCost,
  jobsIn,
  type ListedRun,
  listRuns,
  overIn,
  runJson,
  stateOf,
} from "../../runs/index.ts";
import { commandLine } from "../flags/usage.ts";
import { failureText, oneLine } from "../render/failure.ts";
import { showTable } from "../render/table.ts";
import { type JobsAsked, showFound } from "./jobs-asked.ts";

/** The number of runs without --json. */
const SHOWN = 20;
const MOST = 1000;

/** The runs of the store, the newest first. Gives the exit code. */
export async function showRunList(asked: JobsAsked): Promise<number> {
  const { store, json, place } = asked;
  const { runs, hasMore, damaged } = await listRuns(store.jobs, json ? MOST : SHOWN);
  const listed = { store: place.shown, runs: runs.map(runJson), more: hasMore };
  return showFound(asked, damaged, listed, () => {
    if (runs.length > 0 || damaged.length === 0) showRuns(asked, runs, hasMore);
  });
}

function showRuns({ terminal: { stdout }, place }: JobsAsked, runs: readonly ListedRun[], isCut: boolean): void {
  if (runs.length === 0) {
    const line = commandLine(["batch", "SCRIPT.js", "--jobs", "FILE.jsonl", ...place.flags]);
    stdout.write(`no runs in ${place.shown}\nmake one: ${line}\n`);
    return;
  }
  const now = Date.now();
  const cells = runs.map(({ run, counts }) => [
    run.name,
    stateOf({ run, counts }),
    `${overIn(counts)}/${jobsIn(counts)}`,
    counts.failed === 0 ? "-" : String(counts.failed),
    run.spent.nanodollars > 0 ? dollars(run.spent.nanodollars / 1e9) : "-",
    age(now - run.created_at),
  ]);
  showTable(["run", "state", "over", "failed", "cost", "begun"], cells, COLUMNS, stdout);
  for (const { run, counts, refusal } of runs) {
    const why = stateOf({ run, counts }) === "paused" ? run.why : refusal && `refused: ${failureText(refusal)}`;
    if (why) stdout.line(`${run.name}: ${oneLine(why)}`, "yellow");
  }
  if (isCut) stdout.write(`more than ${amount(SHOWN, "run")}: --json has up to ${MOST}\n`, "dim");
}

const COLUMNS = ["left", "left", "right", "right", "right 1", "right"] as const;

/**
 * `--costs`: what all runs of the store have spent, by day and by model, the newest day first.
 * Gives the exit code.
 */
export async function showCosts(asked: JobsAsked): Promise<number> {
  const { costs, damaged } = await costsByDay(asked.store.jobs);
  const listed = costs.map(({ nanodollars, ...cost }) => ({ ...cost, cost_usd: nanodollars / 1e9 }));
  return showFound(asked, damaged, { store: asked.place.shown, costs: listed }, () => printCosts(asked, costs));
}

function printCosts({ terminal: { stdout } }: JobsAsked, all: readonly DayCost[]): void {
  if (all.length === 0) return void stdout.write("no job has asked a model\n");
  const cells = all.map(({ day, model, jobs, sub_calls, tokens, nanodollars }) => [
    ...[day, model ?? "-", String(jobs), String(sub_calls), compact(tokens)],
    nanodollars > 0 ? dollars(nanodollars / 1e9) : "-",
  ]);
  const sum = all.reduce((total, { nanodollars }) => total + nanodollars, 0);
  showTable(["day", "model", "jobs", "calls", "tokens", "cost"], cells, COST_COLUMNS, stdout);
  stdout.write(`together ${dollars(sum / 1e9)}; days are those of UTC\n`, "dim");
}

const COST_COLUMNS = ["left", "left", "right", "right", "right", "right"] as const;
