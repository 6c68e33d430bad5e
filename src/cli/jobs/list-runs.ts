import { age, amount, compact, dollars } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import {
  type CountedRun,
  type DamagedOfRun,
  jobsIn,
  jobsOf,
  modelOfRun,
  openReadableJobs,
  overIn,
  readableRuns,
  refusalOfRun,
  runJson,
  stateOf,
} from "../../runs/index.ts";
import { type Amount, everyRun, type JobRow, type RunRow } from "../../store/index.ts";
import { commandLine } from "../flags/usage.ts";
import { failureText, oneLine } from "../render/failure.ts";
import { showTable } from "../render/table.ts";
import type { JobsAsked } from "./jobs-asked.ts";
import { showFound } from "./jobs-asked.ts";

type Listed = Pick<CountedRun, "run" | "counts" | "refusal">;

/** The number of runs without --json. */
const SHOWN = 20;
const MOST = 1000;

/** The runs of the store, the newest first. Gives the exit code. */
export async function listRuns(asked: JobsAsked): Promise<number> {
  const { store, json, place } = asked;
  const limit = json ? MOST : SHOWN + 1;
  const { found: rows, damaged } = await readableRuns(store.jobs, limit);
  const runs: Listed[] = [];
  const damage: DamagedOfRun[] = damaged.map(({ id, problem }) => ({ run: id, problem }));
  for (const run of json ? rows : rows.slice(0, SHOWN)) {
    const jobs = openReadableJobs(store.jobs, run);
    const counts = await jobs.counts();
    runs.push({ run, counts, refusal: await refusalOfRun(jobs.list, counts) });
    damage.push(...jobs.damaged());
  }
  const told = { store: place.shown, runs: runs.map(runJson), more: rows.length === MOST };
  return showFound(asked, damage, told, () => {
    if (runs.length > 0 || damage.length === 0) showRuns(asked, runs, rows.length > SHOWN);
  });
}

function showRuns({ terminal: { stdout }, place }: JobsAsked, runs: readonly Listed[], isCut: boolean): void {
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
    if (why) stdout.write(`${inLine(`${run.name}: ${oneLine(why)}`)}\n`, "yellow");
  }
  if (isCut) stdout.write(`more than ${amount(SHOWN, "run")}: --json has up to ${MOST}\n`, "dim");
}

const COLUMNS = ["left", "left", "right", "right", "right 1", "right"] as const;

/** The cost of the jobs that ended on one day, of runs with one model. */
interface Cost extends Amount {
  /** `2026-11-23`, in UTC. */
  readonly day: string;
  /** The model of the runs; null: they name none. */
  readonly model: string | null;
  readonly jobs: number;
}

/**
 * `--costs`: what all runs of the store have spent, by day and by model, the newest day first.
 * Gives the exit code.
 */
export async function showCosts(asked: JobsAsked): Promise<number> {
  const { jobs: inStore } = asked.store;
  const byKey = new Map<string, Cost>();
  const damaged: DamagedOfRun[] = (await inStore.damagedRuns()).map(({ id, problem }) => ({ run: id, problem }));
  const without = damaged.map(({ run }) => run);
  for await (const run of everyRun(inStore, without)) {
    const jobs = openReadableJobs(inStore, run);
    for await (const job of jobsOf(jobs.list)) add(byKey, run, job);
    damaged.push(...jobs.damaged());
  }
  const all = [...byKey.values()].sort((a, b) => b.day.localeCompare(a.day) || b.nanodollars - a.nanodollars);
  const costs = all.map(({ nanodollars, ...cost }) => ({ ...cost, cost_usd: nanodollars / 1e9 }));
  return showFound(asked, damaged, { store: asked.place.shown, costs }, () => printCosts(asked, all));
}

/** A job that has not ended counts on the day on which it began. */
function add(costs: Map<string, Cost>, run: RunRow, { spent, ended_at, begun_at, model: own }: JobRow): void {
  if (spent.sub_calls === 0 && spent.nanodollars === 0 && spent.tokens === 0) return;
  const day = new Date(ended_at ?? begun_at ?? run.created_at).toISOString().slice(0, 10);
  const model = own ?? modelOfRun(run);
  const key = JSON.stringify([day, model]);
  const cost = costs.get(key) ?? { jobs: 0, sub_calls: 0, tokens: 0, nanodollars: 0 };
  const of = (name: keyof Amount) => cost[name] + spent[name];
  const sums = { sub_calls: of("sub_calls"), tokens: of("tokens"), nanodollars: of("nanodollars") };
  costs.set(key, { day, model, jobs: cost.jobs + 1, ...sums });
}

function printCosts({ terminal: { stdout } }: JobsAsked, all: readonly Cost[]): void {
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
