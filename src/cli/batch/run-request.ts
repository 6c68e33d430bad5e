import { hash } from "node:crypto";
import { dirname, resolve } from "node:path";
import { isHandedOver } from "../../platform/bounded-reads.ts";
import { indexFolder } from "../../platform/home.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { targetOf } from "../../platform/result-file.ts";
import {
  newSpec,
  type ProviderRate,
  type RunAsked,
  type RunSpec,
  type SharedContext,
  type Spool,
  usualConcurrency,
  type WorkerSession,
} from "../../runs/index.ts";
import { mostOf } from "../../session/index.ts";
import { runFieldsOf, type Settings } from "../../settings/index.ts";
import type { RunFiles } from "../../store/index.ts";
import type { BatchFlags } from "../commands/batch.ts";
import type { Host } from "../commands/define.ts";
import { type Arguments, type Given, givenIn } from "../flags/arguments.ts";
import { INPUT_FLAGS, OPTION_FLAGS, OUTPUT_FLAGS } from "../flags/declared.ts";
import { DEFAULT_QUEUE, OF_JOBS, RUN_LIMITS } from "../flags/runs.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { loadingIn, settingsIn } from "../flags/values.ts";
import type { Cell } from "../input/cells.ts";
import { contextSource } from "../input/sources.ts";
import type { Terminal } from "../render/terminal.ts";
import { checkPrice, documentOptions, modelsOf, readSettings, sessionOptions, withModel } from "../session/settings.ts";
import type { Stop } from "../stop.ts";
import { type OutPlace, outPlace } from "./results.ts";
import { type RunStore, runStore } from "./run-command.ts";
import { checkRunPrice } from "./run-limits.ts";

/**
 * The arguments of `belay batch`: flags and settings, checked as far as they can be without reading
 * a file.
 */
export interface RunRequest extends RunAsked, RunLines {
  readonly own: BatchFlags;
  readonly store: RunStore;
  readonly settings: Settings;
  readonly json: boolean;
  readonly quiet: boolean;
  /** True if the command has chosen the model, since nothing named one. */
  readonly isModelChosen: boolean;
  /** Jobs at once in this process. */
  readonly concurrency: number;
  /** Values of the flags that are kept with a session. */
  readonly options: Given<typeof OPTION_FLAGS>;
  readonly rates: readonly ProviderRate[];
  /** The place of the results. */
  readonly out: OutPlace;
  /** The part of this process in the sessions of jobs. */
  readonly session: WorkerSession;
}

/** A run whose jobs have been read and found right. */
export interface ReadyRun {
  readonly asked: RunRequest;
  readonly spec: RunSpec;
  readonly spooled: Spool;
  readonly host: Host;
  readonly terminal: Terminal;
  readonly stop: Stop;
}

/** Lines to type that continue a run. */
interface RunLines {
  readonly command: string;
  readonly typed: readonly string[];
  /** The same line, with a flag more, or with another value of one, which comes last. */
  line(...more: readonly string[]): string;
  /** The same line for all inputs. */
  whole(): string;
}

const HELP = commandLine(["help", "batch"]);

/** `belay batch`, or a command that makes the script and the inputs itself. */
interface RunCommand {
  readonly command: string;
  readonly script: string;
  readonly jobs: string;
  /** The inputs in messages: `--jobs mails.csv`. */
  readonly inputs: string;
  /**
   * The files by which earlier runs are known, whose answers the run takes over. Absent: it takes
   * over none.
   */
  readonly files?: RunFiles;
}

/** @throws UsageError */
export function batchRun(args: Arguments, { jobs }: BatchFlags): RunCommand {
  if (jobs === undefined) throw new UsageError("--jobs is missing: the inputs, one job for each", HELP);
  const script = onlyScript(args);
  return { command: "batch", script, jobs, inputs: `--jobs ${jobs}`, files: filesOf(script, jobs) };
}

/**
 * The files of a run by their real paths, of which the store keeps sums alone. A pattern is known
 * by its own text.
 */
function filesOf(script: string, jobs: string): RunFiles {
  const sumOf = (path: string) => hash("sha256", targetOf(resolve(path)).path);
  return { script: sumOf(script), table: jobs === "-" || isHandedOver(jobs) ? null : sumOf(jobs) };
}

const PER_MINUTE: Readonly<Record<string, number>> = { s: 60, min: 1, h: 1 / 60 };

/** @throws UsageError, and RlmError `invalid_config` and the like */
export async function runRequest(
  args: Arguments,
  own: BatchFlags,
  of: RunCommand,
  signal: AbortSignal,
): Promise<RunRequest> {
  const { command, script, jobs, inputs, files } = of;
  const store = runStore(args);
  const limits = { nanodollars: null, tokens: null, sub_calls: null, ...givenIn(args, RUN_LIMITS) };
  const asked = { command, settings: settingsIn(args, commandLine(["help", command]), OF_JOBS), typed: args.typed };
  const { settings, isChosen: isModelChosen } = await withModel(readSettings(asked), asked);
  checkPrice(settings);
  checkRunPrice(limits.nanodollars, settings.model ?? null, [modelsOf(settings)]);
  const contexts = args.get(INPUT_FLAGS.context);
  if (contexts.includes("-") && (jobs === "-" || contexts.filter((path) => path === "-").length > 1)) {
    throw new UsageError("`-` is given twice, but stdin can be read only once", HELP);
  }
  checkWorkers(own, store);
  const json = args.get(OUTPUT_FLAGS.json);
  const lines = linesOf(command, args.typed);
  return {
    ...lines,
    script,
    jobs,
    inputs,
    own,
    store,
    settings,
    limits,
    json,
    files,
    isModelChosen,
    isFresh: files === undefined || own.fresh === true || own.isNew === true,
    loading: loadingIn(args),
    documents: documentOptions(),
    most: mostOf(sessionOptions(settings)),
    roots: tableRoots(jobs, own),
    shared: sharedContext(contexts, signal),
    queue: store.isServer ? (own.queue ?? DEFAULT_QUEUE) : null,
    concurrency: own.concurrency ?? usualConcurrency(),
    options: givenIn(args, OPTION_FLAGS),
    rates: ratesIn(own.rate ?? []),
    out: checkedOut(own, json, [jobs, script, ...contexts]),
    quiet: args.get(OUTPUT_FLAGS.quiet),
    session: workerSession(settings, null),
    cures: {
      named: (option) => `--${option}`,
      leaveOut: (option) => `Leave out --${option}, or begin another run with --new.`,
      runAll: () => `Run them all: \`${lines.whole()}\`. --new begins another run.`,
      retryChanged: () =>
        `Run what has changed again: \`${lines.line("--retry-changed")}\`. ` +
        "--new begins another run, and --name NAME gives it a name.",
    },
  };
}

/** `anthropic=60/min,100000tok/min` as rates of the provider. @throws UsageError */
function ratesIn(typed: readonly string[]): ProviderRate[] {
  return typed.flatMap((text) => {
    const [, provider = "", rates] = /^([^\s=]+)=(.+)$/s.exec(text) ?? [];
    const parsed = rates?.split(",").map((rate) => rateIn(provider, rate)) ?? [null];
    if (parsed.every((rate) => rate !== null)) return parsed;
    const takes = "it takes a provider and how much it is sent, such as anthropic=60/min, anthropic=10/2min";
    const problem = `--rate is ${text}: ${takes} or anthropic=60/min,100000tok/min`;
    throw new UsageError(problem, commandLine(["help", "batch"]));
  });
}

/** `60/min`, `10/2min`, `9000tok/30s`; null for anything else. */
function rateIn(provider: string, rate: string): ProviderRate | null {
  const parts = /^(\d{1,12}(?:\.\d{1,3})?)(tok)?\/(\d{1,6})?(s|min|h)$/.exec(rate.trim()) ?? [];
  const [, number, tokens, units = "1", unit = ""] = parts;
  const perMinute = (Number(number) * (PER_MINUTE[unit] ?? 0)) / Number(units);
  if (!(perMinute > 0 && Number.isFinite(perMinute))) return null;
  return { provider, perMinute, of: tokens === undefined ? "requests" : "tokens" };
}

/** The context that `-c` names for all jobs. */
function sharedContext(contexts: readonly string[], signal: AbortSignal): SharedContext | null {
  const [only] = contexts;
  if (only === undefined) return null;
  return {
    source: async () => (contexts.length === 1 ? contextSource(only, signal) : { paths: contexts }),
    roots: contexts.filter((path) => path !== "-"),
  };
}

/** Folders into which the paths of a table may lead: of one from a pipe the working directory. */
export function tableRoots(jobs: string, { root = [] }: Pick<BatchFlags, "root">): readonly string[] {
  return [jobs === "-" || isHandedOver(jobs) ? "." : dirname(jobs), ...root];
}

/** The same, for a run that --new has begun: the lines that are shown continue this one. */
export function begunAs(asked: RunRequest, name: string): RunRequest {
  if (!asked.own.isNew) return asked;
  const typed = asked.typed.filter((word) => word !== "--new");
  return { ...asked, ...linesOf(asked.command, [...without(typed, "--name"), "--name", name]) };
}

function linesOf(command: string, typed: readonly string[]): RunLines {
  return {
    command,
    typed,
    line(...more) {
      const flag = more.at(-2);
      const others = more.length > 1 && flag !== undefined ? without(typed, flag) : typed;
      return commandLine([command, ...others, ...more]);
    },
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

/**
 * Refuses flags about workers with a folder: this process is the only one that works.
 *
 * @throws UsageError
 */
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

/** Options that this process gives to the sessions of jobs, by its own flags and settings. */
export function workerSession(settings: Settings, models: readonly string[] | null): WorkerSession {
  const { model: _, models: also, ...own } = sessionOptions(settings);
  const indexDir = indexFolder(process.env);
  return { ...own, cwd: process.cwd(), models, also, ...withoutUndefined({ indexDir }) };
}

/** The work of each job of the run. Nothing in it is a key or a place. */
export function specOf(
  { settings, own, options, rates, loading }: RunRequest,
  script: Cell,
  context: RunSpec["context"],
): RunSpec {
  const { encoding, lossy } = loading;
  const isUsual = encoding === undefined && !lossy;
  return newSpec({
    script,
    model: settings.model ?? null,
    ...runFieldsOf(settings),
    context,
    rates: [...rates],
    ...(isUsual ? {} : { decoding: withoutUndefined({ encoding, lossy: lossy || undefined }) }),
    ...withoutUndefined({
      retries: own.retries,
      on_budget: own.onBudget,
      on_restart: options.onRestart,
      cache: options.cache,
      keep_steps: options.keepSteps,
      keep_sessions: own.keepSessions,
      keep_ms: own.keep,
      fail_fast: own.failFast,
    }),
  });
}
