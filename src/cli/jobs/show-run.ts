import { nullIf } from "../../platform/errors.ts";
import { age, amount, dollars, thousands } from "../../platform/figures.ts";
import { inLine, jsonText } from "../../platform/visible.ts";
import { waitsFor } from "../../provider-batches/index.ts";
import {
  type CountedRun,
  followRun,
  type HeldJobs,
  heldJobs,
  jobJson,
  jobsOf,
  openPoke,
  openReadableJobs,
  openReasons,
  openTopReason,
  type Reason,
  refusalOf,
  refusalOfRun,
  runJson,
  stateOf,
  toldOf,
} from "../../runs/index.ts";
import type { JobPage, JobRow, Jobs } from "../../store/index.ts";
import { jobsLine, runExitCode } from "../batch/run-command.ts";
import { pausedText } from "../batch/run-end.ts";
import { openRunProgress, progressText, reusedText } from "../batch/run-progress.ts";
import { QUIET } from "../flags/declared.ts";
import { failureText, oneLine } from "../render/failure.ts";
import { processClock } from "../render/status-line.ts";
import { showTable, table } from "../render/table.ts";
import type { Style } from "../render/terminal.ts";
import { damageJson, type JobsAsked, printJson, runNamed, showDamage, waitText } from "./jobs-asked.ts";

const SHOWN = 50;
const PAGE = 1000;

type Listed = AsyncIterable<JobRow>;

interface Shown extends CountedRun {
  readonly held_back: HeldJobs | null;
}

/**
 * A run and its jobs. Gives the exit code: that of `belay batch`, or 1 if rows of jobs cannot be
 * read.
 */
export async function showRun(asked: JobsAsked, name: string): Promise<number> {
  const { store, json, own } = asked;
  const run = await runNamed(store, name, asked.place);
  const jobs = openReadableJobs(store.jobs, run);
  const states = own.state ? { states: [own.state] } : {};
  const list = (page: JobPage) => jobs.list({ ...page, ...states });
  // The first page tells whether some are not to be counted.
  const rows = await list({ from: 0, limit: json ? PAGE : SHOWN + 1 });
  const counts = await jobs.counts();
  const waits = await waitsFor(store, { run: run.id });
  const reused = await store.jobs.reused(run.id);
  const held_back = await nullIf("store_corrupt", heldJobs(store.jobs, run, counts.parked));
  const refusal = await refusalOfRun(jobs.list, counts);
  const counted = { run, counts, waits, reused, held_back, refusal };
  if (json) {
    const reasons = await printJobs(asked, runJson(counted), jobsOf(list));
    const end = { reasons, ...damageJson(asked, jobs.damaged()) };
    asked.terminal.stdout.writeRaw(`],${jsonText(end).slice(1)}\n`);
  } else {
    await showStateAndJobs(asked, counted, rows, jobsOf(list));
    showDamage(asked, jobs.damaged());
  }
  return jobs.damaged().length > 0 ? 1 : runExitCode({ run, counts, waits });
}

/** @param rows the first jobs that can be read @param all those of the state that is asked for */
async function showStateAndJobs(asked: JobsAsked, counted: Shown, rows: readonly JobRow[], all: Listed) {
  const { run, counts, waits, held_back } = counted;
  const { own, terminal } = asked;
  const { stdout } = terminal;
  const state = stateOf(counted);
  const told = progressText({ counts, run, held_back, refusal: counted.refusal ?? null });
  stdout.write(`${inLine(`${run.name} (${state}): ${told}`)}\n`);
  const reused = reusedText(counted);
  if (reused !== null) stdout.write(`${inLine(reused)}\n`);
  if (state === "paused" && run.why !== null) stdout.write(`${inLine(pausedText(run).replace("paused", "why"))}\n`);
  for (const { provider, batch, calls, since, done } of waits) {
    const where = `${provider} ${batch ?? "(not sent yet)"}: ${amount(calls, "call")}, since ${age(Math.max(1000, Date.now() - since))}`;
    stdout.write(`${inLine(where)}${done > 0 ? `, ${thousands(done)} done` : ""}\n`);
  }
  if (own.state === "failed") await showReasons(asked, all);
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
async function showReasons({ terminal: { stdout } }: JobsAsked, jobs: Listed): Promise<void> {
  const reasons = openReasons();
  for await (const job of jobs) reasons.add(job);
  const cells = reasons.all().map((reason) => [`${reason.count} ×`, failureText(reason)]);
  for (const line of table(cells, ["right", "left"], stdout)) stdout.write(`${line}\n`);
}

async function showJobs({ terminal: { stdout }, own, store }: JobsAsked, rows: readonly JobRow[]): Promise<void> {
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
async function printJobs({ terminal: { stdout } }: JobsAsked, run: object, jobs: Listed): Promise<readonly Reason[]> {
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
export async function watchRun(asked: JobsAsked, name: string): Promise<number> {
  const { store, stop, terminal, place, json } = asked;
  const run = await runNamed(store, name, place);
  const quiet = asked.args.get(QUIET);
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
    terminal.stdout.write(`${inLine(`${run.name}: ${progressText(counted)}`)}\n`);
    if (!quiet) terminal.stderr.write(`results: ${jobsLine(asked, "out", run.name, "--out", "FILE")}\n`, "dim");
  }
  return runExitCode(counted);
}
