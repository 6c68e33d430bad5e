import { hash } from "node:crypto";
import { availableParallelism, totalmem } from "node:os";
import { resolve } from "node:path";
import { targetOf } from "../../platform/result-file.ts";
import type { RunFiles } from "../../store/index.ts";
import type { BatchFlags } from "../commands/batch.ts";
import { type Arguments, givenIn } from "../flags/arguments.ts";
import { CONTEXT, JSON_OUTPUT, OPTION_FLAGS, QUIET } from "../flags/declared.ts";
import { DEFAULT_QUEUE, OF_JOBS, RUN_LIMITS } from "../flags/runs.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { loadingIn, settingsIn } from "../flags/values.ts";
import { isHandedOver } from "../input/sources.ts";
import { checkPrice, modelsOf, readSettings, withModel } from "../session/settings.ts";
import { type OutPlace, outPlace } from "./results.ts";
import { checkRunPrice, ratesIn } from "./run-limits.ts";
import { type RunStore, runStore } from "./run-store.ts";

/** The arguments of `belay batch`: flags and settings, checked as far as they can be without reading a file. */
export type AskedRun = Awaited<ReturnType<typeof askedRun>>;

const HELP = commandLine(["help", "batch"]);

/** `belay batch`, or a command that makes the script and the inputs itself. */
interface RunCommand {
  readonly command: string;
  readonly script: string;
  readonly jobs: string;
  /** The inputs in messages: `--jobs mails.csv`. */
  readonly inputs: string;
  /** The files by which earlier runs are known, whose answers the run takes over. Absent: it takes over none. */
  readonly files?: RunFiles;
}

/** @throws UsageError */
export function batchRun(args: Arguments, { jobs }: BatchFlags): RunCommand {
  if (jobs === undefined) throw new UsageError("--jobs is missing: the inputs, one job for each", HELP);
  const script = onlyScript(args);
  return { command: "batch", script, jobs, inputs: `--jobs ${jobs}`, files: filesOf(script, jobs) };
}

/** The files of a run by their real paths, of which the store keeps sums alone. A pattern is known by its own text. */
function filesOf(script: string, jobs: string): RunFiles {
  const sumOf = (path: string) => hash("sha256", targetOf(resolve(path)).path);
  return { script: sumOf(script), table: jobs === "-" || isHandedOver(jobs) ? null : sumOf(jobs) };
}

/** @throws UsageError, and RlmError `invalid_config` and the like */
export async function askedRun(args: Arguments, own: BatchFlags, of: RunCommand) {
  const { command, script, jobs, inputs, files } = of;
  const store = runStore(args);
  const limits = { nanodollars: null, tokens: null, sub_calls: null, ...givenIn(args, RUN_LIMITS) };
  const asked = { command, settings: settingsIn(args, commandLine(["help", command]), OF_JOBS), typed: args.typed };
  const { settings, isChosen: isModelChosen } = await withModel(readSettings(asked), asked);
  checkPrice(settings);
  checkRunPrice(limits.nanodollars, settings.model ?? null, [modelsOf(settings)]);
  const contexts = args.get(CONTEXT);
  if (contexts.includes("-") && (jobs === "-" || contexts.filter((path) => path === "-").length > 1)) {
    throw new UsageError("`-` is given twice, but stdin can be read only once", HELP);
  }
  checkWorkers(own, store);
  const json = args.get(JSON_OUTPUT);
  return {
    script,
    jobs,
    inputs,
    own,
    store,
    settings,
    limits,
    json,
    files,
    /** Nothing is taken over from earlier runs. */
    isFresh: files === undefined || own.fresh === true || own.isNew === true,
    /** One context for all jobs. */
    contexts,
    /** The command has chosen the model, since nothing named one. */
    isModelChosen,
    loading: loadingIn(args),
    queue: own.queue ?? DEFAULT_QUEUE,
    concurrency: own.concurrency ?? usualConcurrency(),
    options: givenIn(args, OPTION_FLAGS),
    rates: ratesIn(own.rate ?? []),
    out: checkedOut(own, json, [jobs, script, ...contexts]),
    quiet: args.get(QUIET),
    ...linesOf(command, args.typed),
  };
}

/** The same, for a run that --new has begun: the lines that are shown go on with this one. */
export function begunAs(asked: AskedRun, name: string): AskedRun {
  if (!asked.own.isNew) return asked;
  const typed = asked.typed.filter((word) => word !== "--new");
  return { ...asked, ...linesOf(asked.command, [...without(typed, "--name"), "--name", name]) };
}

function linesOf(command: string, typed: readonly string[]) {
  return {
    command,
    typed,
    /** The same line, with a flag more, or with another value of one, which comes last. */
    line: (...more: readonly string[]) =>
      commandLine([command, ...(more.length > 1 ? without(typed, more.at(-2) ?? "") : typed), ...more]),
    /** The same line for all inputs. */
    whole: () => commandLine([command, ...PARTS.reduce(without, typed)]),
  };
}

/** Flags that choose a part of the inputs. */
const PARTS = ["--first", "--only", "--where"];

/** Words without a flag and its value. */
function without(typed: readonly string[], flag: string): readonly string[] {
  return typed.filter((word, at) => word !== flag && !word.startsWith(`${flag}=`) && typed[at - 1] !== flag);
}

/** @param read what the run reads: results in its place would destroy it */
function checkedOut(own: BatchFlags, json: boolean, read: readonly string[]): OutPlace {
  const out = outPlace(own, json, "batch");
  if (out.kind === "file") {
    const { path: place, isSpecial } = targetOf(out.path);
    const same = isSpecial ? undefined : read.find((path) => targetOf(resolve(path)).path === place);
    if (same !== undefined) throw new UsageError(`--out ${out.typed}: the run reads ${same}; name another file`, HELP);
  }
  if (!own.unordered || out.kind === "none" || out.format === "jsonl") return out;
  throw new UsageError("--unordered is for lines of JSON: a table is written whole, in the order of the inputs", HELP);
}

function onlyScript({ positionals }: Arguments): string {
  const [script, other] = positionals;
  if (script === undefined) throw new UsageError("name the SCRIPT.js that runs for each job", HELP);
  if (other === undefined) return script;
  const cure = "put a pattern for --jobs in quotes, so that the shell leaves it";
  throw new UsageError(`batch takes one SCRIPT.js, and ${other} is one more; ${cure}`, HELP);
}

/** Refuses flags about workers with a folder: this process is the only one that works. @throws UsageError */
function checkWorkers({ detach, noWork, queue, share }: BatchFlags, { isServer }: RunStore): void {
  if (isServer) return;
  const needs = "needs workers on a server's store: --store postgres://HOST/DB";
  const problem = [
    detach ? `--detach ${needs}` : null,
    noWork ? `--no-work ${needs}` : null,
    queue !== undefined ? "--queue names a queue of a server's store, and this store is a folder" : null,
    share !== undefined
      ? "--share is for runs that share workers, and in a folder each command works on its own run"
      : null,
  ].find((found) => found !== null);
  if (problem) throw new UsageError(problem, HELP);
}

/** An open job takes about 30 MB. */
const JOB_BYTES = 64 * 2 ** 20;

export function usualConcurrency(): number {
  return Math.max(1, Math.min(2 * availableParallelism(), Math.floor(totalmem() / JOB_BYTES)));
}
