import type { Json } from "../../index.ts";
import { ago, amount, dollars } from "../../platform/figures.ts";
import { parseJson } from "../../platform/json.ts";
import { inLine } from "../../platform/visible.ts";
import { readJson, type WrittenJson } from "../../platform/written-json.ts";
import { type ProviderWait, waitsFor } from "../../provider-batches/index.ts";
import { jobJson, jobWarnings, refusalOf, toldOf } from "../../runs/index.ts";
import type { JobRow, RunRow } from "../../store/index.ts";
import { RUN_EXIT } from "../batch/run-command.ts";
import { commandLine } from "../flags/usage.ts";
import { prettyJson } from "../render/value.ts";
import { waitText as batchText } from "../render/waits.ts";
import { hasLoss, jobWarningText } from "../render/warnings.ts";
import { inFlags } from "../render/wording.ts";
import { type JobsAsked, jobNamed, printJson, runNamed, waitText } from "./jobs-asked.ts";

/**
 * One job: what it was given, how it ended, what it took. Gives the exit code, as that of a run.
 */
export async function showJob(asked: JobsAsked, name: string, id: string): Promise<number> {
  const { store, json } = asked;
  const run = await runNamed(store, name, asked.place);
  const job = await jobNamed(asked, run, id);
  const input = readJson(await store.jobs.input(job));
  const result = job.state === "done" ? await store.jobs.result(job) : null;
  // A row was checked when it was sealed, but it may not be JSON.
  const value = result === null ? null : parseJson(result);
  const waits = await waitsFor(store, { root: job.session });
  const { output: printed } = toldOf(job);
  const output = typeof printed === "string" ? printed : "";
  if (json) {
    const waiting = waits.length > 0 ? { waits } : {};
    printJson(asked, { run: run.name, ...jobJson(job), ...waiting, input, output, result: value });
  } else showText(asked, run, job, { input, output, result, waits });
  if (job.state === "done") return hasLoss(jobWarnings(toldOf(job)), false) ? RUN_EXIT.incomplete : RUN_EXIT.done;
  if (job.state === "failed" || job.state === "cancelled") return RUN_EXIT.failed;
  return job.why === "delivery" && waits.length > 0 && run.state === "open" ? RUN_EXIT.waits : RUN_EXIT.notOver;
}

/** A longer text is cut; --json and the results have it whole. */
const SHOWN_UNITS = 4000;

interface Contents {
  readonly input: WrittenJson;
  readonly output: string;
  /** JSON; null: there is none. */
  readonly result: string | null;
  readonly waits: readonly ProviderWait[];
}

function showText({ terminal, place }: JobsAsked, run: RunRow, job: JobRow, contents: Contents): void {
  const { stdout } = terminal;
  const { input, output, result, waits: batches } = contents;
  const told = toldOf(job);
  const { spent } = job;
  const took = [
    amount(spent.sub_calls, "sub-call"),
    amount(spent.tokens, "token"),
    ...(typeof told.reused === "number"
      ? [amount(told.reused, "answer of an earlier run", "answers of earlier runs")]
      : []),
    ...(spent.nanodollars > 0 ? [dollars(spent.nanodollars / 1e9)] : []),
    ...(job.attempts > 0 ? [amount(job.attempts, "failed attempt")] : []),
    ...(job.lapses > 0 ? [amount(job.lapses, "lapse")] : []),
  ];
  const ended = job.ended_at === null ? "" : `, ${ago(Date.now() - job.ended_at)}`;
  const waits = waitText(job);
  const state = `${job.state}${waits === null ? "" : ` (${waits})`}${ended}`;
  stdout.write(`${inLine(`job ${job.id} of ${run.name}: ${state}`)}\n`);
  for (const wait of batches) stdout.write(`${inLine(batchText(wait))}\n`);
  if (job.model !== null) stdout.write(`${inLine(`asks ${job.model}, not the model of its run`)}\n`);
  stdout.write(`took ${took.join(", ")}\n`);
  block("input", prettyJson(input, WIDTH));
  if (output !== "") block("output", output.trimEnd());
  const refusal = job.state === "failed" ? null : refusalOf(job);
  if (refusal) {
    block(`last refusal (${refusal.error_code}, ${ago(Date.now() - refusal.at)})`, refusal.error);
    if (refusal.suggestion !== "") stdout.write(`suggestion: ${inLine(inFlags(refusal.suggestion))}\n`);
  }
  if (typeof told.error === "string") block(`error (${String(told.error_code)})`, told.error);
  if (typeof told.suggestion === "string") stdout.write(`suggestion: ${inLine(inFlags(told.suggestion))}\n`);
  for (const warning of jobWarnings(told)) stdout.write(`warning: ${inLine(jobWarningText(warning))}\n`);
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
