import { compact, dollars } from "../../platform/figures.ts";
import { isRecord } from "../../platform/json.ts";
import type { JobRow, RunRow } from "../../store/index.ts";
import { table } from "../render/table.ts";
import { type JobsAsked, printJson } from "./jobs-asked.ts";
import { type DamagedOfRun, damagedJobs, damageJson, openReadableJobs, showDamage } from "./readable-jobs.ts";

/** The cost of the jobs that ended on one day, of runs with one model. */
interface Cost {
  /** `2026-11-23`, in UTC. */
  readonly day: string;
  /** That of the runs; null: they name none. */
  readonly model: string | null;
  jobs: number;
  sub_calls: number;
  tokens: number;
  nanodollars: number;
}

const PAGE = 1000;

/** `--costs`: what all runs of the store have spent, by day and by model, the newest day first. Gives the exit code. */
export async function showCosts(asked: JobsAsked): Promise<number> {
  const costs = new Map<string, Cost>();
  const damaged: DamagedOfRun[] = [];
  for await (const run of runsOf(asked, damaged)) {
    const jobs = openReadableJobs(asked.store.jobs, run.id);
    for (let from = 0; ; ) {
      const page = await jobs.read((without) => asked.store.jobs.list(run.id, { from, limit: PAGE, without }));
      for (const job of page) add(costs, run, job);
      const last = page.at(-1);
      if (!last) break;
      from = last.n + 1;
    }
    damaged.push(...damagedJobs(run, jobs));
  }
  const all = [...costs.values()].sort((a, b) => b.day.localeCompare(a.day) || b.nanodollars - a.nanodollars);
  if (asked.json) {
    const shown = all.map(({ nanodollars, ...cost }) => ({ ...cost, cost_usd: nanodollars / 1e9 }));
    printJson(asked, { store: asked.place.shown, costs: shown }, damageJson(asked, damaged));
  } else {
    show(asked, all);
    showDamage(asked, damaged);
  }
  return damaged.length > 0 ? 1 : 0;
}

async function* runsOf({ store }: JobsAsked, damage: DamagedOfRun[]): AsyncIterable<RunRow> {
  const known = await store.jobs.damagedRuns();
  damage.push(...known.map(({ id, problem }) => ({ run: id, problem })));
  for (let after: string | null = null; ; ) {
    const page: readonly RunRow[] = await store.jobs.runs({ after, limit: PAGE, without: known.map(({ id }) => id) });
    yield* page;
    after = page.at(-1)?.id ?? null;
    if (after === null) return;
  }
}

/** A job that has not ended counts on the day on which it began. */
function add(costs: Map<string, Cost>, run: RunRow, { spent, ended_at, begun_at }: JobRow): void {
  if (spent.sub_calls === 0 && spent.nanodollars === 0 && spent.tokens === 0) return;
  const day = new Date(ended_at ?? begun_at ?? run.created_at).toISOString().slice(0, 10);
  const model = isRecord(run.spec) && typeof run.spec.model === "string" ? run.spec.model : null;
  const key = JSON.stringify([day, model]);
  const cost = costs.get(key) ?? { day, model, jobs: 0, sub_calls: 0, tokens: 0, nanodollars: 0 };
  cost.jobs += 1;
  cost.sub_calls += spent.sub_calls;
  cost.tokens += spent.tokens;
  cost.nanodollars += spent.nanodollars;
  costs.set(key, cost);
}

function show({ terminal: { stdout } }: JobsAsked, all: readonly Cost[]): void {
  if (all.length === 0) return void stdout.write("no job has asked a model\n");
  const cells = all.map(({ day, model, jobs, sub_calls, tokens, nanodollars }) => [
    ...[day, model ?? "-", String(jobs), String(sub_calls), compact(tokens)],
    nanodollars > 0 ? dollars(nanodollars / 1e9) : "-",
  ]);
  const sum = all.reduce((total, { nanodollars }) => total + nanodollars, 0);
  const [header = "", ...lines] = table(
    [["day", "model", "jobs", "calls", "tokens", "cost"], ...cells],
    COLUMNS,
    stdout,
  );
  stdout.write(`${header}\n`, "dim");
  for (const line of lines) stdout.write(`${line}\n`);
  stdout.write(`together ${dollars(sum / 1e9)}; days are those of UTC\n`, "dim");
}

const COLUMNS = ["left", "left", "right", "right", "right", "right"] as const;
