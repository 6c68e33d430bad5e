import { existsSync } from "node:fs";
import { type CallEstimate, type DryRun, RlmError } from "../../index.ts";
import { amount, compact, dollars, thousands } from "../../platform/figures.ts";
import { escapedJson } from "../../platform/visible.ts";
import { dryRuns, type HeldByAll, heldByAll, recordedFor, runsIn, spread } from "../../runs/index.ts";
import type { Amount, RunLimits, Store } from "../../store/index.ts";
import { RUN_LIMITS } from "../flags/runs.ts";
import { firstWords } from "../render/calls.ts";
import { showDryRun } from "../render/envelope.ts";
import { openStoreIn } from "../store/open-store.ts";
import { batchShare } from "./run-limits.ts";
import type { ReadyRun } from "./run-request.ts";

/** The number of jobs that are tried in place of all. */
const TRIED = 3;

const WORD_OF = { tokens: "tokens", nanodollars: "dollars", sub_calls: "sub-calls" } as const;

/**
 * `--dry-run`: runs the first jobs with placeholders for answers, and prints what all of them would
 * take. Gives the exit code.
 *
 * @param count how many all are
 * @param most how many are run
 */
export async function dryRunBatch(ready: ReadyRun, count = ready.spooled.count, most = TRIED): Promise<number> {
  const { asked, spec, spooled, host, terminal, stop } = ready;
  await using scratch = await host.openStore(null);
  await using store = await storeOfLine(ready);
  const recorded = store && (await recordedFor(asked, store, null));
  const isSampled = spread(spooled.count);
  const chosen = (at: number) => at < most || (recorded !== null && isSampled(at));
  const runs = runsIn(scratch);
  const tried: DryRun[] = [];
  const leftOut = (why: string) => terminal.stderr.line(`left out: ${why}`, "dim");
  const { session } = asked;
  const { signal } = stop;
  for await (const { job, dry } of dryRuns({
    asked,
    spooled,
    runs,
    spec,
    session,
    recorded,
    chosen,
    leftOut,
    signal,
  })) {
    if (stop.exitCode !== undefined) return stop.exitCode;
    tried.push(dry);
    if (!asked.json && tried.length <= most) {
      terminal.stdout.line(`job ${job.id}`);
      if (tried.length === 1) terminal.stdout.write(`\`job\` is ${firstWords(escapedJson(job.input))}\n`, "dim");
      showDryRun(dry, terminal);
    }
    if (tried.length === most && recorded === null) break;
  }
  const all = estimateOf(tried, count);
  const failed = tried.filter(({ envelope }) => !envelope.success).length;
  if (asked.json) {
    const jobs = tried.map(({ envelope, estimate }) => ({ ...envelope, estimate }));
    const from = recorded ? { reused_from: recorded.from } : {};
    terminal.stdout.json({ success: failed === 0, jobs: count, tried: jobs, all, ...from });
  } else {
    const by = recorded ? `${thousands(tried.length)} of them` : `the first ${tried.length}`;
    const of = `${amount(count, "job")}, by ${by}`;
    terminal.stdout.write(`${estimateText(of, all, batchShare(asked.settings))}\n`);
    if (recorded) terminal.stdout.line(recordedText(all.reused, recorded.from));
    const held = asked.settings.delivery === "batch" ? heldByAll(asked.limits, amountOf(all)) : null;
    if (held) terminal.stdout.write(`${heldByAllText(asked.limits, held)}\n`);
  }
  return failed === 0 ? 0 : 1;
}

/** Says what limits hold back when all calls go by batch, before any is sent. */
function heldByAllText(limits: RunLimits, { of, share, raise_to }: HeldByAll): string {
  const limit = limits[of] ?? 0;
  const room = of === "nanodollars" ? dollars(limit / 1e9) : `${limit} ${WORD_OF[of]}`;
  const wait = `by provider batch ${room} have room for about ${share} % of the calls at once, and the others wait`;
  return `${wait} for the first wave: raise --${RUN_LIMITS[of].name} to ${raise_to}`;
}

/**
 * The store of the line, if it is there: a dry run makes none. A server that does not answer is
 * told of.
 */
async function storeOfLine({ asked, host, terminal }: ReadyRun): Promise<Store | null> {
  const { place, isServer } = asked.store;
  if (asked.isFresh || !(isServer || existsSync(place))) return null;
  try {
    return await openStoreIn(place, host);
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    terminal.stderr.line(`answers on record are not counted: ${error.message}`, "dim");
    return null;
  }
}

interface Estimate extends Pick<CallEstimate, "sub_calls" | "input_tokens" | "max_output_tokens" | "cost_usd"> {
  /** Calls whose answers are on record. They are not among `sub_calls`. */
  readonly reused: number;
}

/** `~37 answers are reused from label-6e7b36aa: --fresh asks again`. */
function recordedText(reused: number, from: readonly string[]): string {
  const [newest, ...more] = from;
  const others = more.length === 0 ? "" : ` and ${amount(more.length, "earlier run")}`;
  if (reused === 0) return `no answer of ${newest}${others} fits: all are asked for`;
  return `~${amount(reused, "answer is", "answers are")} reused from ${newest}${others}: --fresh asks again`;
}

/** The cost of all jobs, by that of the tried ones. */
function estimateOf(tried: readonly DryRun[], jobs: number): Estimate {
  const of = (name: keyof Estimate) => {
    const sum = tried.reduce((total, { estimate }) => total + (estimate[name] ?? 0), 0);
    return (sum / Math.max(1, tried.length)) * jobs;
  };
  return {
    sub_calls: Math.round(of("sub_calls")),
    input_tokens: Math.round(of("input_tokens")),
    max_output_tokens: Math.round(of("max_output_tokens")),
    cost_usd: of("cost_usd"),
    reused: Math.round(of("reused")),
  };
}

/** The amount that the first requests of all jobs hold together. */
const amountOf = ({ sub_calls, input_tokens, max_output_tokens, cost_usd }: Estimate): Amount => ({
  nanodollars: Math.ceil(cost_usd * 1e9),
  tokens: input_tokens + max_output_tokens,
  sub_calls,
});

/** @param of the jobs that are estimated, and those that were run */
function estimateText(of: string, all: Estimate, share: number | null): string {
  const { sub_calls, input_tokens, max_output_tokens, cost_usd } = all;
  const what = `${of}: ~${amount(sub_calls, "sub-call")}`;
  if (sub_calls === 0) return what;
  const byBatch =
    share === null || share === 1
      ? ""
      : ` now, ~${dollars(cost_usd * share)} by provider batch (each wave: minutes to 24 h)`;
  const price = cost_usd > 0 ? `up to ~${dollars(cost_usd)}${byBatch}` : "price not known";
  return `${what}, ~${compact(input_tokens)} tokens in, up to ${compact(max_output_tokens)} out, ${price}`;
}
