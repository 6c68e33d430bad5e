import type { CallEstimate, DryRun } from "../../index.ts";
import { openRuns } from "../../jobs/index.ts";
import { amount, compact, dollars } from "../../platform/figures.ts";
import { escapedJson, inLine, jsonText } from "../../platform/visible.ts";
import { firstWords } from "../render/calls.ts";
import { showDryRun } from "../render/dry-run.ts";
import type { ReadyRun } from "./batch.ts";
import { openAskedJobs } from "./read-jobs.ts";
import { batchShare } from "./run-limits.ts";
import { workerSession } from "./working.ts";

/** The number of jobs that are tried in place of all. */
const TRIED = 3;

/**
 * `--dry-run`: runs the first jobs with placeholders for answers, and prints what all of them would take. Gives the exit code.
 * @param count how many all are @param most how many are run
 */
export async function dryRunBatch(ready: ReadyRun, count = ready.spooled.count, most = TRIED): Promise<number> {
  const { asked, spec, spooled, host, terminal, stop } = ready;
  await using store = await host.openStore(null);
  const runs = openRuns(store);
  const own = workerSession(asked.settings, null);
  const tried: DryRun[] = [];
  const leftOut = (why: string) => terminal.stderr.write(`left out: ${inLine(why)}\n`, "dim");
  for await (const job of openAskedJobs(asked, spooled, { runs, signal: stop.signal, leftOut })()) {
    const dry = await runs.dryRun(spec, job, own);
    if (stop.exitCode !== undefined) return stop.exitCode;
    tried.push(dry);
    if (!asked.json) {
      terminal.stdout.write(`job ${inLine(job.id)}\n`);
      if (tried.length === 1) terminal.stdout.write(`\`job\` is ${firstWords(escapedJson(job.input))}\n`, "dim");
      showDryRun(dry, terminal);
    }
    if (tried.length === most) break;
  }
  const all = estimateOf(tried, count);
  const failed = tried.filter(({ envelope }) => !envelope.success).length;
  if (asked.json) {
    const jobs = tried.map(({ envelope, estimate }) => ({ ...envelope, estimate }));
    terminal.stdout.writeRaw(`${jsonText({ success: failed === 0, jobs: count, tried: jobs, all })}\n`);
  } else terminal.stdout.write(`${estimateText(all, tried.length, count, batchShare(asked.settings))}\n`);
  return failed === 0 ? 0 : 1;
}

type Estimate = Pick<CallEstimate, "sub_calls" | "input_tokens" | "max_output_tokens" | "cost_usd">;

/** The cost of all jobs, by that of the tried ones. */
function estimateOf(tried: readonly DryRun[], jobs: number): Estimate {
  const of = (name: keyof Estimate) => {
    const sum = tried.reduce((total, { estimate }) => total + estimate[name], 0);
    return (sum / Math.max(1, tried.length)) * jobs;
  };
  return {
    sub_calls: Math.round(of("sub_calls")),
    input_tokens: Math.round(of("input_tokens")),
    max_output_tokens: Math.round(of("max_output_tokens")),
    cost_usd: of("cost_usd"),
  };
}

function estimateText(all: Estimate, tried: number, jobs: number, share: number | null): string {
  const { sub_calls, input_tokens, max_output_tokens, cost_usd } = all;
  const what = `${amount(jobs, "job")}, by the first ${tried}: ~${amount(sub_calls, "sub-call")}`;
  if (sub_calls === 0) return what;
  const byBatch =
    share === null || share === 1 ? "" : ` now, ~${dollars(cost_usd * share)} by batch (each wave: minutes to 24 h)`;
  const price = cost_usd > 0 ? `up to ~${dollars(cost_usd)}${byBatch}` : "price not known";
  return `${what}, ~${compact(input_tokens)} tokens in, up to ${compact(max_output_tokens)} out, ${price}`;
}
