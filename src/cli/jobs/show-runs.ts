import type { Json } from "../../index.ts";
import { nullIf } from "../../platform/errors.ts";
import { age, ago, amount, compact, dollars, thousands } from "../../platform/figures.ts";
import { inLine, jsonText } from "../../platform/visible.ts";
import {
  type CountedReason,
  costsByDay,
  type DayCost,
  followRun,
  HELD_UP,
  isOfAnotherBuild,
  type JobLook,
  jobJson,
  jobsIn,
  jobWarnings,
  type ListedRun,
  listRuns,
  lookAtJob,
  lookAtRun,
  openPoke,
  openReasons,
  openTopReason,
  overIn,
  type RunLook,
  refusalOf,
  runJson,
  stateOf,
  toldOf,
} from "../../runs/index.ts";
import type { JobRow, Jobs, RunRow } from "../../store/index.ts";
import { jobsLine, RUN_EXIT, runExitCode } from "../batch/run-command.ts";
import { pausedText } from "../batch/run-end.ts";
import { openRunProgress, progressText, reusedText } from "../batch/run-progress.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { commandLine } from "../flags/usage.ts";
import { waitText as batchText } from "../render/calls.ts";
import { failureText, oneLine } from "../render/failure.ts";
import { processClock } from "../render/status-line.ts";
import { showTable, table } from "../render/table.ts";
import type { Style } from "../render/terminal.ts";
import { prettyJson } from "../render/value.ts";
import { hasLoss, jobWarningText } from "../render/warnings.ts";
import { inFlags } from "../render/wording.ts";
import { damageJson, type JobsRequest, jobNamed, printJson, runNamed, showDamage, showFound } from "./jobs-request.ts";

const SHOWN = 50;
const PAGE = 1000;

type Listed = AsyncIterable<JobRow>;

/**
 * A run and its jobs. Gives the exit code: that of `belay batch`, or 1 if rows of jobs cannot be
 * read.
 */
export async function showRun(asked: JobsRequest, name: string): Promise<number> {
  const { store, json, own } = asked;
  const run = await runNamed(store, name, asked.place);
  const look = await lookAtRun(store, run, own.state, json ? PAGE : SHOWN + 1);
  if (json) {
    const reasons = await printJobs(asked, runJson(look), look.jobs);
    const end = { reasons, ...damageJson(asked, look.damaged()) };
    asked.terminal.stdout.writeRaw(`],${jsonText(end).slice(1)}\n`);
  } else {
    await showStateAndJobs(asked, look);
    showDamage(asked, look.damaged());
  }
  return look.damaged().length > 0 ? 1 : runExitCode(look);
}

async function showStateAndJobs(asked: JobsRequest, look: RunLook): Promise<void> {
  const { run, counts, waits, rows } = look;
  const { own, terminal } = asked;
  const { stdout } = terminal;
  const state = stateOf(look);
  const { held_back, refusal = null } = look;
  const progress = progressText({ counts, run, held_back, refusal });
  stdout.line(`${run.name} (${state}): ${progress}`);
  const reused = reusedText(look);
  if (reused !== null) stdout.line(reused);
  if (state === "paused" && run.why !== null) stdout.line(pausedText(run).replace("paused", "why"));
  for (const { provider, batch, calls, since, done } of waits) {
    const where = `${provider} ${batch ?? "(not sent yet)"}: ${amount(calls, "call")}, since ${age(Math.max(1000, Date.now() - since))}`;
    stdout.write(`${inLine(where)}${done > 0 ? `, ${thousands(done)} done` : ""}\n`);
  }
  if (own.state === "failed") await showReasons(asked, look.jobs);
  if (rows.length === 0) stdout.write(own.state ? `no job is ${own.state}\n` : "it has no jobs\n");
  else await showJobs(asked, rows.slice(0, SHOWN));
  if (rows.length > SHOWN) {
    const more = own.state ? amount(counts[own.state] - SHOWN, "more job") : "more jobs follow";
    stdout.write(`${more}: --json has them all\n`, "dim");
  }
  const one = rows.find(({ state }) => state === "failed") ?? rows[0];
  if (one) stdout.write(`one of them: ${jobsLine(asked, run.name, one.id)}\n`, "dim");
}

/**
 * Reasons of failed jobs, the most frequent one first: `79 × schema_mismatch: the answer does not
 * fit …`.
 */
async function showReasons({ terminal: { stdout } }: JobsRequest, jobs: Listed): Promise<void> {
  const reasons = openReasons();
  for await (const job of jobs) reasons.add(job);
  const cells = reasons.all().map((reason) => [`${reason.count} ×`, failureText(reason)]);
  for (const line of table(cells, ["right", "left"], stdout)) stdout.write(`${line}\n`);
}

async function showJobs({ terminal: { stdout }, own, store }: JobsRequest, rows: readonly JobRow[]): Promise<void> {
  // People want to know the inputs of jobs that failed.
  const inputs = own.state === "failed" ? await Promise.all(rows.map((job) => inputOf(store.jobs, job))) : null;
  const cells = rows.map((job, at) => [
    job.id,
    job.state,
    String(job.spent.sub_calls),
    job.spent.nanodollars > 0 ? dollars(job.spent.nanodollars / 1e9) : "-",
    ...(inputs ? [inputs[at] ?? "-"] : []),
    whyOf(job),
  ]);
  const titles = ["job", "state", "calls", "cost", ...(inputs ? ["input"] : []), "why"];
  showTable(titles, cells, inputs ? [...COLUMNS, "left"] : COLUMNS, stdout, (at) => STYLES[rows[at]?.state ?? ""]);
}

const COLUMNS = ["left", "left", "right", "right 1", "left"] as const;
const STYLES: Readonly<Record<string, Style>> = { failed: "red", running: "green", parked: "yellow" };

/** The reason why a job failed or waits, on one line. */
function whyOf(job: JobRow): string {
  const { error } = toldOf(job);
  if (typeof error === "string") return oneLine(error);
  const refusal = refusalOf(job);
  const wait = waitText(job);
  const parts = [wait === refusal?.error_code ? null : wait, refusal && failureText(refusal)];
  return oneLine(parts.filter((part) => part !== null).join(": ") || "-");
}

/** `provider, goes on in 12 min`: why a job waits, and for how long; null: nothing keeps it. */
function waitText({ state, why, run_at, engine }: JobRow): string | null {
  const ms = run_at === null ? 0 : run_at - Date.now();
  const until = ms > 0 ? [`goes on in ${age(Math.max(ms, 1000))}`] : [];
  const isOther = HELD_UP.includes(state) && isOfAnotherBuild(engine);
  const build = isOther ? ["waits for the build of Belay that began it"] : [];
  return [...(why === null ? [] : [why]), ...until, ...build].join(", ") || null;
}

const INPUT_UNITS = 48;

/** The first words of a job's input. */
async function inputOf(jobs: Pick<Jobs, "input">, job: JobRow): Promise<string> {
  const json = await nullIf("store_corrupt", jobs.input(job));
  if (json === null) return "(damaged)";
  return oneLine(json.startsWith('"') ? JSON.parse(json) : json, INPUT_UNITS);
}

/**
 * The beginning of one JSON object, whose jobs are written as they are read: a run may have a
 * million. Answers why some failed.
 */
async function printJobs(
  { terminal: { stdout } }: JobsRequest,
  run: object,
  jobs: Listed,
): Promise<readonly CountedReason[]> {
  const reasons = openReasons();
  stdout.writeRaw(`${jsonText({ run }).slice(0, -1)},"jobs":[`);
  let separator = "";
  for await (const job of jobs) {
    stdout.writeRaw(`${separator}${jsonText(jobJson(job))}`);
    reasons.add(job);
    separator = ",";
  }
  return reasons.all();
}

/**
 * `--watch`: follows a run until it has ended, whoever works on it. Gives the exit code: that of
 * `belay batch`.
 */
export async function watchRun(asked: JobsRequest, name: string): Promise<number> {
  const { store, stop, terminal, place, json } = asked;
  const run = await runNamed(store, name, place);
  const quiet = asked.args.get(OUTPUT_FLAGS.quiet);
  const progress = openRunProgress(terminal.stderr, processClock, quiet ? "quiet" : json ? "json" : "text");
  const topReason = openTopReason(store.jobs, run.id);
  const counted = await followRun({
    store,
    run: run.id,
    wait: openPoke(stop.signal).wait,
    signal: stop.signal,
    look: async (now) => progress.show({ ...now, reason: await topReason(now.counts.failed) }),
    // Nobody works on a folder by itself.
    ...(place.isServer ? { unreachable: progress.unreachable } : { waitMs: () => 0 }),
  });
  progress.clear();
  if (counted === null || stop.exitCode !== undefined) return stop.exitCode ?? 3;
  if (json) printJson(asked, { run: runJson(counted) });
  else {
    terminal.stdout.line(`${run.name}: ${progressText(counted)}`);
    if (!quiet) terminal.stderr.write(`results: ${jobsLine(asked, "out", run.name, "--out", "FILE")}\n`, "dim");
  }
  return runExitCode(counted);
}

/**
 * One job: what it was given, how it ended, what it took. Gives the exit code, as that of a run.
 */
export async function showJob(asked: JobsRequest, name: string, id: string): Promise<number> {
  const { store, json } = asked;
  const run = await runNamed(store, name, asked.place);
  const job = await jobNamed(asked, run, id);
  const look = await lookAtJob(store, job);
  const { waits } = look;
  if (json) {
    const { input, output, value } = look;
    const waiting = waits.length > 0 ? { waits } : {};
    printJson(asked, { run: run.name, ...jobJson(job), ...waiting, input, output, result: value });
  } else showText(asked, run, job, look);
  if (job.state === "done") return hasLoss(jobWarnings(toldOf(job)), false) ? RUN_EXIT.incomplete : RUN_EXIT.done;
  if (job.state === "failed" || job.state === "cancelled") return RUN_EXIT.failed;
  return job.why === "delivery" && waits.length > 0 && run.state === "open" ? RUN_EXIT.waits : RUN_EXIT.notOver;
}

/** A longer text is cut; --json and the results have it whole. */
const SHOWN_UNITS = 4000;

function showText({ terminal, place }: JobsRequest, run: RunRow, job: JobRow, look: JobLook): void {
  const { stdout } = terminal;
  const { input, output, result, waits: batches } = look;
  const report = toldOf(job);
  const { spent } = job;
  const took = [
    amount(spent.sub_calls, "sub-call"),
    amount(spent.tokens, "token"),
    ...(typeof report.reused === "number"
      ? [amount(report.reused, "answer of an earlier run", "answers of earlier runs")]
      : []),
    ...(spent.nanodollars > 0 ? [dollars(spent.nanodollars / 1e9)] : []),
    ...(job.attempts > 0 ? [amount(job.attempts, "failed attempt")] : []),
    ...(job.lapses > 0 ? [amount(job.lapses, "lapse")] : []),
  ];
  const ended = job.ended_at === null ? "" : `, ${ago(Date.now() - job.ended_at)}`;
  const waits = waitText(job);
  const state = `${job.state}${waits === null ? "" : ` (${waits})`}${ended}`;
  stdout.line(`job ${job.id} of ${run.name}: ${state}`);
  for (const wait of batches) stdout.line(batchText(wait));
  if (job.model !== null) stdout.line(`asks ${job.model}, not the model of its run`);
  stdout.write(`took ${took.join(", ")}\n`);
  block("input", prettyJson(input, WIDTH));
  if (output !== "") block("output", output.trimEnd());
  const refusal = job.state === "failed" ? null : refusalOf(job);
  if (refusal) {
    block(`last refusal (${refusal.error_code}, ${ago(Date.now() - refusal.at)})`, refusal.error);
    if (refusal.suggestion !== "") stdout.line(`suggestion: ${inFlags(refusal.suggestion)}`);
  }
  if (typeof report.error === "string") block(`error (${String(report.error_code)})`, report.error);
  if (typeof report.suggestion === "string") stdout.line(`suggestion: ${inFlags(report.suggestion)}`);
  for (const warning of jobWarnings(report)) stdout.line(`warning: ${jobWarningText(warning)}`);
  if (result !== null) block("result", resultText(result));
  const show = commandLine(["show", `${run.name}/${job.id}`, ...place.flags]);
  if (job.begun_at !== null) stdout.write(`all that it did: ${show}\n`, "dim");

  function block(title: string, text: string): void {
    const shown = text.length > SHOWN_UNITS ? `${text.slice(0, SHOWN_UNITS)}… (--json has it whole)` : text;
    stdout.write(`${title}\n`, "dim");
    stdout.write(`${shown.replaceAll(/^/gm, "  ")}\n`);
  }
}

const WIDTH = 96;

function resultText(result: string): string {
  if (result.length > SHOWN_UNITS) return result;
  const value: Json = JSON.parse(result);
  return typeof value === "string" ? value : prettyJson(value, WIDTH);
}

/** The number of runs without --json. */
const RUNS_SHOWN = 20;
const MOST_RUNS = 1000;

/** The runs of the store, the newest first. Gives the exit code. */
export async function showRunList(asked: JobsRequest): Promise<number> {
  const { store, json, place } = asked;
  const { runs, hasMore, damaged } = await listRuns(store.jobs, json ? MOST_RUNS : RUNS_SHOWN);
  const listed = { store: place.shown, runs: runs.map(runJson), more: hasMore };
  return showFound(asked, damaged, listed, () => {
    if (runs.length > 0 || damaged.length === 0) showRuns(asked, runs, hasMore);
  });
}

function showRuns({ terminal: { stdout }, place }: JobsRequest, runs: readonly ListedRun[], isCut: boolean): void {
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
  showTable(["run", "state", "over", "failed", "cost", "begun"], cells, RUN_COLUMNS, stdout);
  for (const { run, counts, refusal } of runs) {
    const why = stateOf({ run, counts }) === "paused" ? run.why : refusal && `refused: ${failureText(refusal)}`;
    if (why) stdout.line(`${run.name}: ${oneLine(why)}`, "yellow");
  }
  if (isCut) stdout.write(`more than ${amount(RUNS_SHOWN, "run")}: --json has up to ${MOST_RUNS}\n`, "dim");
}

const RUN_COLUMNS = ["left", "left", "right", "right", "right 1", "right"] as const;

/**
 * `--costs`: what all runs of the store have spent, by day and by model, the newest day first.
 * Gives the exit code.
 */
export async function showCosts(asked: JobsRequest): Promise<number> {
  const { costs, damaged } = await costsByDay(asked.store.jobs);
  const listed = costs.map(({ nanodollars, ...cost }) => ({ ...cost, cost_usd: nanodollars / 1e9 }));
  return showFound(asked, damaged, { store: asked.place.shown, costs: listed }, () => printCosts(asked, costs));
}

function printCosts({ terminal: { stdout } }: JobsRequest, all: readonly DayCost[]): void {
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
