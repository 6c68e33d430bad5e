import type { LoadProgress } from "../../context/index.ts";
import { endSentence } from "../../models/index.ts";
import { amount, thousands } from "../../platform/figures.ts";
import {
  asksModel,
  type CountedRun,
  checkModel,
  countedRun,
  type Dispatcher,
  forecastOf,
  hasChoice,
  jobsIn,
  leftToOtherBuild,
  openDispatcher,
  openReadableJobs,
  openTopReason,
  overIn,
  readJobs,
  runStateJson,
  runsIn,
  runToEnd,
  type StoreRuns,
  type SubmittedRun,
  stateOf,
  submit,
} from "../../runs/index.ts";
import type { Jobs, RunRow, Store } from "../../store/index.ts";
import type { BatchFlags } from "../commands/batch.ts";
import type { Host } from "../commands/define.ts";
import type { Arguments } from "../flags/arguments.ts";
import { DEFAULT_QUEUE } from "../flags/runs.ts";
import { commandLine } from "../flags/usage.ts";
import { type Cell, readCells } from "../input/cells.ts";
import { processClock } from "../render/status-line.ts";
import { warningText } from "../render/warnings.ts";
import { inFlags } from "../render/wording.ts";
import { modelsOf } from "../session/settings.ts";
import { openSendingStore } from "../store/open-store.ts";
import { dryRunBatch } from "./dry-run.ts";
import { initScript } from "./init.ts";
import { hashLines, noteInputs } from "./input-notes.ts";
import { openResults, type Results } from "./results.ts";
import { jobsLine, RUN_EXIT, runExitCode, withRun } from "./run-command.ts";
import { type Among, endLines, warningLines } from "./run-end.ts";
import { batchShare } from "./run-limits.ts";
import { openRunProgress, type RunProgress } from "./run-progress.ts";
import { batchRun, begunAs, type ReadyRun, type RunRequest, runRequest, specOf } from "./run-request.ts";

/** `belay batch`: submits a run, works on it, and ends with it. */
export function batchCommand(args: Arguments, host: Host, own: BatchFlags): Promise<number> {
  return withRun(args, "batch", async (stop, terminal) => {
    if (own.init) return await initScript(args, own, { terminal, signal: stop.signal });
    const asked = await runRequest(args, own, batchRun(args, own), stop.signal);
    const script = await readScript(asked.script, stop.signal);
    using read = await readJobs(asked, stop.signal);
    const spec = specOf(asked, script, read.mode);
    noteInputs(read, own, terminal);
    const ready = { asked, spec, spooled: read.spool, host, terminal, stop };
    return await (own.dryRun ? dryRunBatch(ready) : runBatch(ready));
  });
}

/**
 * The script that each job runs; its name is the file, for tracebacks.
 *
 * @throws UsageError, RlmError `source_too_large`
 */
async function readScript(path: string, signal: AbortSignal): Promise<Cell> {
  const [cell] = await readCells([{ option: null, value: path }], signal, "batch");
  return { name: path, source: cell?.source ?? "" };
}

/** A run that the command ends with, and its open store. */
export interface RunEnd extends Pick<ReadyRun, "asked" | "terminal"> {
  readonly store: Store;
  readonly submitted: SubmittedRun;
  readonly counted: CountedRun;
  /** Lines for people: the last one is the line to type next. */
  readonly lines: string[];
  readonly code: number;
  readonly among: Pick<Among, "inputs" | "forecast" | "loss" | "replies">;
}

/**
 * Submits the run, works on it, and ends with it. Gives the exit code.
 *
 * @param report prints the end
 * @throws RlmError
 */
export async function runBatch(wanted: ReadyRun, report: (ended: RunEnd) => Promise<void> = tell): Promise<number> {
  const { host, stop, terminal, spec, spooled } = wanted;
  const { own, settings } = wanted.asked;
  checkModel(spec, own.detach || own.noWork ? null : modelsOf(settings));
  const { json, quiet } = wanted.asked;
  const progress = openRunProgress(terminal.stderr, processClock, json ? "json" : quiet ? "quiet" : "text");
  const sending = { otlp: settings.otlp, say: progress.say };
  await using store = await openSendingStore(wanted.asked.store.place, host, sending);
  stop.leaving.after(() => store[Symbol.asyncDispose]());
  const runs = runsIn(store);
  const leftOut = (why: string) => progress.say(`left out: ${why}`);
  const onLoad = (name: string | null, read: LoadProgress) => progress.loads(name ?? "the context", read);
  const parts = { runs, store, signal: stop.signal, leftOut, onLoad };
  const submitted = await submit(wanted.asked, spec, spooled, parts);
  progress.clear();
  const asked = begunAs(wanted.asked, submitted.run.name);
  const ready = { ...wanted, asked };
  progress.say(submittedLine(submitted));
  if (asked.isModelChosen && submitted.made && asksModel(spec.script)) {
    progress.say(warningText(`model_chosen: ${spec.model}`));
  }
  const ends = endSentence(spec.model);
  if (ends !== null && asksModel(spec.script)) progress.say(warningText(`model_ends: ${ends}`));
  if (spec.delivery === "batch" && submitted.made && batchShare(settings) === 1) {
    progress.say(warningText(`batch_price_unknown: ${spec.model}`));
  }
  await using dispatcher = await openDispatcher(asked.store.place, submitted.run.queue, progress.say);
  const again = submitted.anew + (await openAgain(asked, submitted, runs, store.jobs));
  const by = submitted.model === null ? "" : ` with ${submitted.model}`;
  if (again > 0) progress.say(`${amount(again, "job")} will be tried again${by}`);
  if (asked.own.noWork) progress.say(workLine(asked, submitted.run));
  // A dispatcher of this process takes tickets as they are worked off: this may last as long as the
  // run.
  const offering = runs.offer(submitted.run, dispatcher);
  if (asked.own.detach) {
    await offering;
    const counted = await countedRun(store, submitted.run.id);
    const among = { inputs: submitted.order.length, forecast: null, ...NO_WARNINGS };
    const watch = jobsLine({ place: asked.store }, submitted.run.name, "--watch");
    const lines = [workLine(asked, submitted.run), `follow it: ${watch}`];
    const code = RUN_EXIT.done;
    await tell({ asked, terminal, store, submitted, counted, lines, code, among });
    return code;
  }
  const end = await workAndFollow({ ...ready, store, submitted, progress, dispatcher, offering });
  const elsewhere = asked.store.isServer ? 0 : await leftToOtherBuild(store.jobs, submitted.run.id);
  const first = own.first !== undefined && submitted.order.length < spooled.count && stop.exitCode === undefined;
  const forecast = first
    ? await forecastOf({ ...ready, submitted, runs, store, session: asked.session, signal: stop.signal })
    : null;
  const isOver = stateOf(end.counted) === "over";
  const warned = isOver ? await warningLines(openReadableJobs(store.jobs, submitted.run).list) : NO_WARNINGS;
  const reason = await openTopReason(store.jobs, submitted.run.id)(end.counted.counts.failed);
  const among = { ...warned, left: elsewhere, reason, inputs: submitted.order.length, forecast };
  const ended = endOf(ready, end, among);
  await report({ ...ended, asked, terminal, store, submitted, among });
  if (end.isLate) stop.leaving.leave(ended.code);
  return ended.code;
}

function workLine({ store }: RunRequest, { queue }: RunRow): string {
  const served = queue === DEFAULT_QUEUE ? [] : ["--queue", queue];
  return `work on it: ${commandLine(["worker", ...served, ...store.flags])}`;
}

const NO_WARNINGS = { loss: null, replies: null };

function submittedLine({ run, order, added }: SubmittedRun): string {
  const all = order.length;
  const of = added === all ? "" : added === 0 ? ", all known" : `, ${thousands(added)} of them new`;
  return `run ${run.name}: ${amount(all, "job")}${of}`;
}

/**
 * Resumes a paused run, and does what the flags ask with jobs that have ended. Returns the number
 * of jobs that are tried again.
 */
async function openAgain(
  { own }: RunRequest,
  { run, model }: SubmittedRun,
  runs: StoreRuns,
  jobs: Jobs,
): Promise<number> {
  const isAsked = { failed: own.retryFailed, cancelled: own.retryCancelled };
  const states = (["failed", "cancelled"] as const).filter((state) => isAsked[state]);
  await runs.change(run, { to: "resume" }, null);
  // Of a part of the inputs the known jobs are taken up already.
  if (states.length === 0 || own.first !== undefined || hasChoice(own)) return 0;
  const before = await jobs.counts(run.id);
  await runs.change(run, { to: "retry", ids: null, states, fresh: false, model }, null);
  const after = await jobs.counts(run.id);
  return before.failed + before.cancelled - after.failed - after.cancelled;
}

/** A run that has been submitted, and the open parts of the command. */
interface OpenRun extends Pick<ReadyRun, "asked" | "terminal" | "stop"> {
  readonly store: Store;
  readonly submitted: SubmittedRun;
  readonly progress: RunProgress;
  readonly dispatcher: Dispatcher;
  readonly offering: Promise<void>;
}

/** The outcome of working on a run and following it. */
interface End {
  readonly counted: CountedRun;
  readonly results: Results;
  /** True if jobs are still being suspended. */
  readonly isLate: boolean;
}

/**
 * Works, unless others do, and follows the run until it has ended or the user stops it.
 *
 * @throws RlmError
 */
async function workAndFollow(open: OpenRun): Promise<End> {
  const { asked, store, submitted, progress, dispatcher, offering, stop } = open;
  const { own, session, concurrency } = asked;
  const { run, order } = submitted;
  // A results file that cannot be opened ends the command before anybody waits for it.
  offering.catch(() => {});
  const wanted = { run: run.id, order, jobs: store.jobs, unordered: own.unordered === true };
  const results = await openResults(asked.out, wanted, open.terminal.stdout);
  const topReason = openTopReason(store.jobs, run.id);
  let over = -1;
  try {
    const end = await runToEnd({
      store,
      run,
      dispatcher,
      offering,
      session,
      concurrency,
      place: asked.store.place,
      works: own.noWork !== true,
      stop: stop.signal,
      waitMs: own.wait,
      resendsDoubtful: own.resendDoubtful === true,
      unreachable: progress.unreachable,
      onProgress(event) {
        if (event.kind === "said") progress.say(inFlags(event.text));
        if (event.kind === "waiting") progress.waits(event);
      },
      async look(now) {
        progress.show({ ...now, reason: await topReason(now.counts.failed) });
        if (overIn(now.counts) !== over) await results.follow();
        over = overIn(now.counts);
      },
    });
    await results.follow();
    return { ...end, results };
  } finally {
    progress.clear();
    await results.close();
  }
}

function endOf({ asked, stop, spooled }: ReadyRun, { counted, results }: End, among: Among) {
  const { exitCode } = stop;
  const lacking = among.loss === null ? RUN_EXIT.done : RUN_EXIT.incomplete;
  const code = exitCode ?? (Math.max(runExitCode(counted), results.problem ? 1 : 0) || lacking);
  const isStopped = exitCode !== undefined && stateOf(counted) !== "over";
  const lines = isStopped ? [stoppedLine(asked, counted)] : endLines(asked, counted, results.problem, among);
  const hashed = stateOf(counted) === "over" ? hashLines(spooled) : [];
  // The last line is the next one to type.
  const notes = results.note === null ? hashed : [...hashed, results.note];
  return { counted, code, lines: [...notes, ...lines] };
}

/** The line for a user who has stopped the command. */
function stoppedLine({ line, own }: RunRequest, { counts, waits }: CountedRun): string {
  const calls = waits.reduce((sum, wait) => sum + (wait.batch === null ? 0 : wait.calls), 0);
  const stay = calls === 0 ? "" : `; ${amount(calls, "call stays", "calls stay")} at the provider`;
  const at = `at ${overIn(counts)} of ${jobsIn(counts)}`;
  // Workers continue.
  if (own.noWork) return `followed no longer, ${at}; follow it again with: ${line()}`;
  return `suspended ${at}${stay}; continue with: ${line()}`;
}

/** Prints the end of a run: with --json one object on stdout, else lines on stderr. */
async function tell(ended: RunEnd): Promise<void> {
  const { asked, terminal, lines, code, among } = ended;
  const isSilent = asked.quiet && code === RUN_EXIT.done && !among.forecast;
  if (asked.json) terminal.stdout.json(endJson(ended));
  else if (!isSilent) for (const line of lines) terminal.stderr.line(line);
}

/** The end of a run for programs. */
export function endJson({ counted, lines, code, among }: RunEnd) {
  const { name, why } = counted.run;
  const { inputs, forecast, loss, replies } = among;
  const facts = { inputs, ...(forecast ? { forecast } : {}), loss, replies };
  const next = lines.at(-1) ?? null;
  return {
    success: code === RUN_EXIT.done,
    run: name,
    state: stateOf(counted),
    why,
    ...facts,
    ...runStateJson(counted),
    exit_code: code,
    next,
  };
}
