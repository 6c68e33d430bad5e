import { amount } from "../../platform/figures.ts";
import type { Counts } from "../../store/index.ts";
import { outPlace } from "../batch/out-place.ts";
import { jobsIn, overIn } from "../batch/progress-line.ts";
import { openResults } from "../batch/results.ts";
import type { Output } from "../render/terminal.ts";
import { damagedJobs, damageJson, showDamage } from "./damaged-rows.ts";
import { type JobsAsked, printJson, runNamed } from "./jobs-asked.ts";
import { openReadableJobs } from "./readable-jobs.ts";

/**
 * `jobs out`: writes the results that there are, in the order of the jobs. Gives the exit code: 1 if rows of jobs cannot be read, 3
 * if some jobs are not over.
 */
export async function writeOut(asked: JobsAsked, name: string): Promise<number> {
  const { own, json, store, terminal, place } = asked;
  const out = outPlace(own.out ?? own.output ?? "-", own.format, json, "jobs");
  const run = await runNamed(store, name, place);
  const readable = openReadableJobs(store.jobs, run.id);
  const jobs: Pick<typeof store.jobs, "input" | "list" | "result"> = {
    list: (id, page) => readable.read((without) => store.jobs.list(id, { ...page, without })),
    input: (key) => store.jobs.input(key),
    result: (key) => store.jobs.result(key),
  };
  // What is over is written, also behind jobs that are not.
  const results = await openResults(out, { run: run.id, order: null, jobs, unordered: true }, terminal.stdout);
  await results.close();
  if (results.problem) throw results.problem;
  const counts = await readable.read((without) => store.jobs.counts(run.id, without));
  const damaged = damagedJobs(run, readable);
  const { failed, cancelled } = counts;
  const figures = { results: overIn(counts), jobs: jobsIn(counts), failed, cancelled };
  if (json) printJson(asked, { run: run.name, ...figures }, damageJson(asked, damaged));
  else {
    tellRest(counts, terminal.stderr);
    showDamage(asked, damaged);
  }
  return damaged.length > 0 ? 1 : figures.results < figures.jobs ? 3 : 0;
}

/** Tells how many jobs have no result, and why. */
function tellRest(counts: Counts, stderr: Output): void {
  const [over, all] = [overIn(counts), jobsIn(counts)];
  const { failed, cancelled } = counts;
  if (over < all) stderr.write(`${over} of ${amount(all, "job")} are over; the others have no line\n`);
  if (failed > 0) stderr.write(`${amount(failed, "job")} failed: error_code and error of a line say why\n`);
  if (cancelled > 0) stderr.write(`${amount(cancelled, "job was", "jobs were")} cancelled\n`);
}
