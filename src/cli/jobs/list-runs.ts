import { age, amount, dollars } from "../../platform/figures.ts";
import { type Counts, type RunRow, readablePart } from "../../store/index.ts";
import { jobsIn, overIn, runJson, stateOf } from "../batch/run-state.ts";
import { table } from "../render/table.ts";
import { type JobsAsked, printJson } from "./jobs-asked.ts";
import { type DamagedOfRun, damagedJobs, damageJson, openReadableJobs, showDamage } from "./readable-jobs.ts";

interface Listed {
  readonly run: RunRow;
  readonly counts: Counts;
}

/** Without --json. */
const SHOWN = 20;
const MOST = 1000;

/** The runs of the store, the newest first. Gives the exit code. */
export async function listRuns(asked: JobsAsked): Promise<number> {
  const { store, json, place } = asked;
  const limit = json ? MOST : SHOWN + 1;
  const { found: rows, damaged } = await readablePart(
    (without) => store.jobs.runs({ after: null, limit, without }),
    () => store.jobs.damagedRuns(),
  );
  const runs: Listed[] = [];
  const damage: DamagedOfRun[] = damaged.map(({ id, problem }) => ({ run: id, problem }));
  for (const run of json ? rows : rows.slice(0, SHOWN)) {
    const jobs = openReadableJobs(store.jobs, run.id);
    runs.push({ run, counts: await jobs.read((without) => store.jobs.counts(run.id, without)) });
    damage.push(...damagedJobs(run, jobs));
  }
  if (json)
    printJson(
      asked,
      { store: place.shown, runs: runs.map(runJson), more: rows.length === MOST },
      damageJson(asked, damage),
    );
  else {
    if (runs.length > 0 || damage.length === 0) showRuns(asked, runs, rows.length > SHOWN);
    showDamage(asked, damage);
  }
  return damage.length > 0 ? 1 : 0;
}

function showRuns({ terminal: { stdout }, place }: JobsAsked, runs: readonly Listed[], isCut: boolean): void {
  if (runs.length === 0) {
    stdout.write(`no runs in ${place.shown}\nmake one: belay batch SCRIPT.js --jobs FILE.jsonl\n`);
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
  const [header = "", ...lines] = table(
    [["run", "state", "over", "failed", "cost", "begun"], ...cells],
    COLUMNS,
    stdout,
  );
  stdout.write(`${header}\n`, "dim");
  for (const line of lines) stdout.write(`${line}\n`);
  if (isCut) stdout.write(`more than ${amount(SHOWN, "run")}: --json has up to ${MOST}\n`, "dim");
}

const COLUMNS = ["left", "left", "right", "right", { align: "right", drop: 1 }, "right"] as const;
