import { basename, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { LIMITS, readGuestFile } from "../../../runtime/index.ts";
import { METHODS, roomOf, SUITES, type SuiteName } from "../../eval/index.ts";
import type { AgentCommands } from "../../platform/agent-commands.ts";
import { amount, compact, dollars } from "../../platform/figures.ts";
import { isRecord, withoutUndefined } from "../../platform/json.ts";
import { temporaryFolder } from "../../platform/make-folder.ts";
import { nearest } from "../../platform/nearest.ts";
import { checkModel, openIds, spool } from "../../runs/index.ts";
import { SETTINGS, type Settings } from "../../settings/index.ts";
import { runBatch } from "../batch/batch.ts";
import { dryRunBatch } from "../batch/dry-run.ts";
import { withRun } from "../batch/run-command.ts";
import { runRequest, specOf } from "../batch/run-request.ts";
import type { Host } from "../commands/define.ts";
import type { EvalFlags } from "../commands/eval.ts";
import type { Arguments } from "../flags/arguments.ts";
import { UsageError } from "../flags/usage.ts";
import { openStatusLine, processClock } from "../render/status-line.ts";
import type { Output } from "../render/terminal.ts";
import { modelsListed, modelsOf } from "../session/settings.ts";
import { baselineAgents, heldTexts, lentAgents, type MethodJob } from "./baseline.ts";
import { dataItems, HELP, madeItem, type Placed } from "./data.ts";
import { type Evaluation, jobOf, reportEval } from "./report.ts";

const [FOLDER, CONTEXTS, SIZES, ITEMS] = ["belay-eval", "contexts", ["32k"], 5] as const;

/**
 * `belay eval`: asks questions with known answers, by a run of jobs, and reports. Gives the exit
 * code.
 */
export function evalCommand(args: Arguments, host: Host, own: EvalFlags): Promise<number> {
  return withRun(args, "eval", async (stop, terminal) => {
    const { data = [], items: each = ITEMS } = own;
    const suites = suitesIn(args.positionals);
    const names = [...suites, ...data.map((file) => basename(file))];
    const script = ["eval", ...names].join("-");
    const inputs = names.join(", ") || "all suites";
    const request = await runRequest(
      args,
      own,
      { command: "eval", script, jobs: "these questions", inputs },
      stop.signal,
    );
    // The child that answers for the ask may have as many levels below it as an ask of the command
    // has.
    const max_depth = Math.min(LIMITS.maxDepth, (request.settings.max_depth ?? SETTINGS.max_depth.default) + 1);
    const asked = { ...request, settings: { ...request.settings, max_depth } };
    const source = readGuestFile(new URL("../../eval/eval.guest.js", import.meta.url));
    const baseline = own.baseline ?? [];
    const agents = baselineAgents(baseline, asked);
    const usual = specOf(asked, { name: "eval", source }, "each");
    const spec = baseline.length === 0 ? usual : { ...usual, agents: [...baseline] };
    // Without a model, or its key, texts would be made for nothing.
    if (!own.dryRun) checkModel(spec, modelsOf(asked.settings));
    // Results of a dry run are not kept.
    using scratch = own.dryRun ? temporaryFolder("belay-eval-") : null;
    const { folder = FOLDER } = own;
    const contexts = join(scratch?.path ?? folder, CONTEXTS);
    const progress = openQuestionProgress(terminal.stderr, asked.json ? "json" : asked.quiet ? "quiet" : "text");
    const wanted = { ...own, folder, contexts, agents, progress };
    const evaluation = await evaluationOf(wanted, suites, asked.settings, stop.signal).finally(progress.clear);
    for (const line of evaluation.known) if (!asked.quiet && !asked.json) terminal.stderr.line(line, "dim");
    const jobs = jobsOf(evaluation);
    using spooled = await spooledJobs(jobs);
    const session = { ...asked.session, lent: lentAgents(agents, source, jobs) };
    const ready = { asked: { ...asked, session }, spec, spooled, host, terminal, stop };
    if (!own.dryRun) return await runBatch(ready, (ended) => reportEval(ended, evaluation));
    // One question of each suite and size stands for all of them.
    const most = data.length === 0 ? spooled.count : 3 * evaluation.methods.length;
    const code = await dryRunBatch(ready, data.length === 0 ? spooled.count * each : spooled.count, most);
    if (!asked.json) for (const line of [boundText(asked.settings), ...heldTexts(agents)]) terminal.stdout.line(line);
    return code;
  });
}

/** @throws UsageError that names the suites */
function suitesIn(typed: readonly string[]): SuiteName[] {
  const names = Object.keys(SUITES);
  const isSuite = (name: string): name is SuiteName => names.includes(name);
  const wrong = typed.find((name) => !isSuite(name));
  if (wrong === undefined) return [...new Set(typed.filter(isSuite))];
  const meant = nearest(wrong, names);
  const cure = meant ? `did you mean ${meant}? There are` : "there are";
  throw new UsageError(`${wrong} is not a suite; ${cure} ${names.join(", ")}`, HELP);
}

/** Tells how many questions have been read or made: the files of published suites have hundreds of megabytes. */
interface QuestionProgress {
  read(data: string, questions: number): void;
  made(suite: string, size: string, questions: number): void;
  /** Takes the line away. */
  clear(): void;
}

function openQuestionProgress(output: Output, as: "text" | "json" | "quiet"): QuestionProgress {
  const status = openStatusLine(output, processClock, { ...QUESTION_PACE, as });
  return {
    clear: status.clear,
    read(data, questions) {
      status.show(`reading ${data}: ${amount(questions, "question")}`, { kind: "reading", data, questions });
    },
    made(suite, size, questions) {
      const text = `making the texts of ${suite} at ${size}: ${amount(questions, "question")}`;
      status.show(text, { kind: "making", suite, size, questions });
    },
  };
}

const QUESTION_PACE = { onTerminal: { first: 500, step: 100 }, elsewhere: { first: 3000, step: 10_000 } };

/** The flags of an evaluation, and the places of its questions. */
interface Wanted extends EvalFlags {
  readonly folder: string;
  readonly contexts: string;
  readonly agents: AgentCommands;
  readonly progress: QuestionProgress;
}

/** The questions, with their contexts on disk. @throws UsageError, BadInput */
async function evaluationOf(
  own: Wanted,
  typed: readonly SuiteName[],
  settings: Settings,
  signal: AbortSignal,
): Promise<Evaluation> {
  const { data = [], folder, contexts, items, agents, progress, seed = 1, size: sizes = SIZES } = own;
  const owned = METHODS.filter((method) => method === "ask" || (own.against?.includes(method) ?? true));
  const window = owned.length === 1 || settings.model === undefined ? null : (own.window ?? (await windowOf(settings)));
  const methods = [...owned, ...Object.keys(agents)];
  const suites = typed.length > 0 || data.length > 0 ? typed : suitesIn(Object.keys(SUITES));
  const each = own.dryRun && data.length === 0 ? 1 : (items ?? ITEMS);
  const made: Placed[] = [];
  for (const [suite, size] of suites.flatMap((one) => sizes.map((other) => [one, other] as const))) {
    for (let number = 1; number <= each; number++) {
      made.push(madeItem(contexts, suite, size, number, seed));
      progress.made(suite, size, number);
      // Each may take a second: a signal ends it between two.
      await setImmediate();
      signal.throwIfAborted();
    }
  }
  const roots = [...(own.root ?? []), join(folder, CONTEXTS)];
  const given = await dataItems(data, { most: items, roots, folder: contexts, signal, onRead: progress.read });
  return { items: [...given.items, ...made], known: given.known, methods, agents, window, folder, seed };
}

/** @throws UsageError if the window of the model is not known */
async function windowOf(settings: Settings): Promise<number> {
  const { model = "", base_url } = settings;
  const listed = await modelsListed(settings);
  // The provider of a model of a server has any name.
  const idOf = (id: string) => (base_url === undefined ? id : id.slice(id.indexOf("/") + 1));
  const window = listed?.find(({ id }) => idOf(id) === idOf(model))?.window;
  if (window) return window;
  const cure = "add --window TOKENS, or --against none";
  throw new UsageError(`the window of ${model} is not known, and direct and bm25 need it: ${cure}`, HELP);
}

/** A job of each question and method. The expected answer is in none of them. */
function jobsOf({ items, methods, agents, window }: Evaluation): MethodJob[] {
  return items.flatMap((item) =>
    methods.map((method) => {
      const agent = Object.hasOwn(agents, method) ? method : undefined;
      const room = window === null || method === "ask" || agent ? undefined : roomOf(method, window);
      const { id, question } = item;
      const value = { id: jobOf(id, method), item: id, method, question, ...withoutUndefined({ room, agent }) };
      return { item, method, value };
    }),
  );
}

function spooledJobs(jobs: readonly MethodJob[]) {
  const files = new Map(jobs.map(({ item }) => [item.id, item.file]));
  const inputs = jobs.map(({ item, value }) => ({ at: item.id, value }));
  return spool(inputs, openIds(null, "id"), ({ value }) => (isRecord(value) && files.get(String(value.item))) || null);
}

/**
 * The most that the ask of a question may take: by its dollars, or by its tokens at the dearer
 * price.
 */
function boundText(settings: Settings): string {
  const { model = null, max_tokens = SETTINGS.max_tokens.default, max_cost_usd } = settings;
  const price = model === null ? null : modelsOf(settings).price(model);
  const most = max_cost_usd ?? (price && (max_tokens * Math.max(price.input, price.output)) / 1e6);
  const limit = max_cost_usd === undefined ? "--max-tokens" : "--max-cost-usd";
  const bound = most === null ? `${compact(max_tokens)} tokens` : dollars(most);
  return `each ask: at most ${bound} by ${limit}; --first 3 runs the first jobs, and measures what one takes`;
}
