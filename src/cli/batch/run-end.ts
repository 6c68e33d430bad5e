import { firstly, remedy } from "../../../runtime/index.ts";
import type { RlmError } from "../../index.ts";
import { amount, compact, dollars, thousands } from "../../platform/figures.ts";
import {
  type CountedRun,
  choiceText,
  type Forecast,
  hasChoice,
  jobsIn,
  jobsOf,
  jobWarnings,
  limitIn,
  overIn,
  type TopReason,
  toldOf,
} from "../../runs/index.ts";
import { partsOfWarning } from "../../session/index.ts";
import type { JobPage, JobRow, RunRow } from "../../store/index.ts";
import { RUN_LIMITS } from "../flags/runs.ts";
import { commandLine } from "../flags/usage.ts";
import { waitLines } from "../render/calls.ts";
import { failureText } from "../render/failure.ts";
import { hasLoss, jobWarningText } from "../render/warnings.ts";
import { inFlags } from "../render/wording.ts";
import { RUN_EXIT, runExitCode } from "./run-command.ts";
import { progressText, reusedText } from "./run-progress.ts";
import type { RunRequest } from "./run-request.ts";

/** Which jobs of a run are meant. */
export interface Among extends WarningLines {
  /** Inputs of this line. */
  readonly inputs: number;
  /** Jobs that wait for another build, if no others do. */
  readonly left: number;
  /** Why most of the failed jobs failed; null: none did. */
  readonly reason: TopReason | null;
  /** The likely cost of all inputs, if only the first were run. */
  readonly forecast: Forecast | null;
}

/**
 * Lines about a run at its end: the last one is the line to type next.
 * @param problem what keeps the results from being whole
 */
export function endLines(asked: RunRequest, counted: CountedRun, problem: RlmError | null, among: Among): string[] {
  const lines = stateLines(asked, counted, problem, among);
  if (among.forecast) lines.push(forecastText(among.forecast));
  const isPart = among.forecast !== null || hasChoice(asked.own);
  if (isPart && runExitCode(counted) < RUN_EXIT.notOver) lines.push(`run them all: ${asked.whole()}`);
  return lines;
}

function stateLines(asked: RunRequest, counted: CountedRun, problem: RlmError | null, among: Among): string[] {
  const { inputs, left, loss, reason, replies } = among;
  const { run, counts, waits } = counted;
  // Failed jobs have lines of their own.
  const refusal = overIn(counts) < jobsIn(counts) ? (counted.refusal ?? null) : null;
  const name = run.name;
  const about = (...words: string[]) => commandLine(["jobs", ...words, ...asked.store.flags]);
  const reused = reusedText(counted);
  const lines = [`${name}: ${progressText({ counts, run, refusal })}`, ...(reused === null ? [] : [reused])];
  lines.push(...otherJobs(asked, jobsIn(counts) - inputs));
  lines.push(...[loss, replies].filter((line) => line !== null));
  if (problem) {
    lines.push(`error: ${problem.message} (${problem.code})`);
    lines.push(`results: ${about("out", name, "--out", "FILE")}`);
  }
  if (run.state === "paused") return [...lines, ...pausedLines(asked, counted)];
  if (waits.length > 0) return [...lines, ...waitLines(waits, Date.now()), `continue with: ${asked.line()}`];
  if (left > 0) {
    const wait = `${amount(left, "job waits", "jobs wait")} for the build of Belay that began ${left === 1 ? "it" : "them"}`;
    const anew = `or begin anew: ${about("retry", name, "--fresh")}`;
    return [...lines, `${wait}; with that build, continue with: ${asked.line()}`, `${anew}, then ${asked.line()}`];
  }
  if (counts.waiting + counts.running + counts.cancelling + counts.parked > 0) {
    return [...lines, `not over; continue with: ${asked.line()}`];
  }
  if (counts.failed > 0) {
    if (reason) lines.push(`${reason.count} × ${failureText(reason)}`);
    lines.push(`why they failed: ${about(name, "--state", "failed")}`);
    if (reason && reason.filtered > 0) lines.push(filteredLine(asked, reason));
    // The same model would filter it again, so it is not worth another try.
    if (reason?.filtered !== counts.failed) lines.push(retryLine(asked, reason));
  } else if (counts.cancelled > 0) {
    lines.push(`try them again: ${asked.own.retryCancelled ? asked.line() : asked.line("--retry-cancelled")}`);
  } else if (asked.out.kind === "none") {
    lines.push(`results: ${about("out", name, "--out", "FILE")}`);
  } else if (asked.out.kind === "file" && !problem) {
    lines.push(`${amount(inputs, "result is", "results are")} in ${asked.out.typed}; more: ${about(name)}`);
  }
  return lines;
}

/** The same model would filter the same questions again. */
function filteredLine({ line, own }: RunRequest, { filtered }: TopReason): string {
  const other = line(...(own.retryFailed ? [] : ["--retry-failed"]), "--model", "PROVIDER/ID");
  const jobs = amount(filtered, "job is", "jobs are");
  return `${jobs} filtered by the provider: ask differently or use another model: ${other}`;
}

/** Jobs whose budget was spent would spend it again. */
function retryLine({ line, own }: RunRequest, reason: TopReason | null): string {
  const again = `try them again: ${own.retryFailed ? line() : line("--retry-failed")}`;
  if (reason?.error_code !== "budget_exceeded") return again;
  if (reason.error.includes("the run's limit")) return `${again}, with a higher --run-max-…`;
  return `their budget was spent: ${inFlags(remedy("moreBudget"))} in another run: ${line("--new")}`;
}

/** Jobs that earlier lines gave to the run, and this one did not. */
function otherJobs({ jobs, out, own }: RunRequest, others: number): string[] {
  if (others === 0) return [];
  const place = jobs === "-" ? "stdin" : jobs;
  const all = jobs === "-" ? "on stdin" : `in ${jobs}`;
  const chosen = hasChoice(own) ? `chosen by ${choiceText(own)}` : all;
  const from = own.first ? `among the first ${own.first} of ${place}` : chosen;
  const results = out.kind === "none" ? "" : ` and not in ${out.kind === "file" ? out.typed : "the results"}`;
  return [`${amount(others, "job of the run is", "jobs of the run are")} not ${from}${results}`];
}

function pausedLines({ line, store }: RunRequest, { run }: CountedRun): string[] {
  const resume = ["jobs", "resume", run.name, ...store.flags];
  const again = store.isServer ? commandLine(resume) : line(...cureIn(run.why));
  const limit = limitIn(run.why);
  if (limit === null) return [pausedText(run), `continue with: ${again}`];
  const flag = `--${RUN_LIMITS[limit].name}`;
  const higher = store.isServer ? ` ${flag} HIGHER` : `, with a higher ${flag}`;
  return [pausedText(run), `continue with: ${again}${higher}`];
}

/** Flags that the reason of a pause asks for. */
function cureIn(why: string | null): string[] {
  if (why?.includes(firstly("resendDoubtful"))) return ["--resend-doubtful"];
  return why?.includes(firstly("sendNow")) ? ["--delivery", "now"] : [];
}

/** The reason why a run is paused, as a line for people. */
export function pausedText({ why, limits }: Pick<RunRow, "why" | "limits">): string {
  if (why === null) return "paused";
  const limit = limitIn(why);
  if (limit === null) return `paused: ${inFlags(why)}`;
  const value = limits[limit];
  const shown = value === null ? "" : ` ${limit === "nanodollars" ? value / 1e9 : value}`;
  return `paused: --${RUN_LIMITS[limit].name}${shown} is spent, or held by requests in flight when a process ended`;
}

/** `likely $1.90 for 3,000 (from 20), at most $11.25`. Without a price it counts tokens. */
function forecastText({ jobs, from, likely, at_most }: Forecast): string {
  const shown = (sum: Forecast["likely"]) =>
    likely.cost_usd > 0 ? dollars(sum.cost_usd) : `${compact(sum.tokens)} tokens`;
  const whose = `${thousands(jobs)} (from ${thousands(from)})`;
  return `likely ${shown(likely)} for ${whose}, at most ${shown(at_most)}`;
}

/** Lines about the warnings of jobs that are done. */
interface WarningLines {
  /** The line about jobs without a part of what was asked for; null: there are none. */
  readonly loss: string | null;
  /** The line about jobs whose models did not reply as asked; null: there are none. */
  readonly replies: string | null;
}

/** True for a warning about replies that were not as they were asked for. */
const isAboutReplies = (warning: string) => ABOUT_REPLIES.includes(partsOfWarning(warning).code);

const ABOUT_REPLIES = ["replies_mended", "parameters_ignored"];

export async function warningLines(list: (page: JobPage) => Promise<readonly JobRow[]>): Promise<WarningLines> {
  const losses: string[] = [];
  const replies: string[] = [];
  for await (const job of jobsOf((page) => list({ ...page, states: ["done"] }))) {
    const warnings = jobWarnings(toldOf(job));
    const note = (noted: string[], warning: string | undefined) => {
      // The first is shown, and the others are counted.
      if (warning !== undefined) noted.push(noted.length > 0 ? "" : `${job.id}: ${jobWarningText(warning)}`);
    };
    note(
      losses,
      warnings.find((warning) => hasLoss([warning], false)),
    );
    note(replies, warnings.find(isAboutReplies));
  }
  const lack = amount(losses.length, "job lacks", "jobs lack");
  const warn = amount(replies.length, "job warns", "jobs warn");
  return {
    loss: losses.length === 0 ? null : `${lack} a part of what was asked for, such as ${losses[0]}`,
    replies: replies.length === 0 ? null : `${warn} about replies of models, such as ${replies[0]}`,
  };
}
