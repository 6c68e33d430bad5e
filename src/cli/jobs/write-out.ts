import { amount } from "../../figures.ts";
import { outPlace } from "../batch/out-place.ts";
import { jobsIn, overIn } from "../batch/progress-line.ts";
import { openResults } from "../batch/results.ts";
import { type JobsAsked, printJson, runNamed } from "./jobs-asked.ts";

/** `jobs out`: writes the results that there are, in the order of the jobs. Gives the exit code: 3 if some jobs are not over. */
export async function writeOut(asked: JobsAsked, name: string): Promise<number> {
  const { own, json, store, terminal, place } = asked;
  const out = outPlace(own.out ?? own.output ?? "-", json, "jobs");
  const run = await runNamed(store, name, place);
  // What is over is written, also behind jobs that are not.
  const results = await openResults(out, { run: run.id, jobs: store.jobs, unordered: true }, terminal.stdout);
  await results.close();
  if (results.problem) throw results.problem;
  const counts = await store.jobs.counts(run.id);
  const [over, all] = [overIn(counts), jobsIn(counts)];
  const { failed, cancelled } = counts;
  if (json) printJson(asked, { run: run.name, results: over, jobs: all, failed, cancelled });
  else {
    if (over < all) terminal.stderr.write(`${over} of ${amount(all, "job")} are over; the others have no line\n`);
    if (failed > 0) terminal.stderr.write(`${amount(failed, "job")} failed: error_code and error of a line say why\n`);
    if (cancelled > 0) terminal.stderr.write(`${amount(cancelled, "job was", "jobs were")} cancelled\n`);
  }
  return over < all ? 3 : 0;
}
