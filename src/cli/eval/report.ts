import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  cellsOf,
  crossingLine,
  curvesOf,
  type EvalRow,
  figuresOf,
  isFigure,
  type JobEnd,
  lineOf,
  lossesOf,
  lossLine,
  type Method,
  markdownOf,
  roomOf,
  rowOf,
  TITLES,
  unreadLine,
  unreadOf,
} from "../../eval/index.ts";
import type { AgentCommands } from "../../platform/agent-commands.ts";
import { nullIf } from "../../platform/errors.ts";
import { thousands } from "../../platform/figures.ts";
import { isRecord, parseJson } from "../../platform/json.ts";
import { outputFailed, writeResultFile } from "../../platform/result-file.ts";
import { version } from "../../platform/version.ts";
import { jsonText } from "../../platform/visible.ts";
import { finalJobs } from "../../runs/index.ts";
import type { JobRow } from "../../store/index.ts";
import { staticPage } from "../../view/index.ts";
import { endJson, type RunEnd } from "../batch/batch.ts";
import { commandLine } from "../flags/usage.ts";
import { type Column, showTable } from "../render/table.ts";
import { agentFact } from "./baseline.ts";
import type { Placed } from "./data.ts";
import { PAGE_RULES, pageBody } from "./page.ts";

/** An evaluation as its flags ask for it. */
export interface Evaluation {
  readonly items: readonly Placed[];
  /** The files whose questions are of suites that others publish, and of which. */
  readonly known: readonly string[];
  readonly methods: readonly Method[];
  /** Agents of the user's among the methods. */
  readonly agents: AgentCommands;
  /** Tokens of the model's window; null: no method needs it. */
  readonly window: number | null;
  readonly folder: string;
  readonly seed: number;
}

export const jobOf = (item: string, method: Method) => `${item}-${method}`;

/**
 * Scores what is there, writes the reports and prints the table. Of a run that was stopped it only
 * prints where it is.
 */
export async function reportEval(ended: RunEnd, evaluation: Evaluation): Promise<void> {
  const { asked, counted, code } = ended;
  const { stdout, stderr } = ended.terminal;
  const isStopped = code > 128;
  const folder = join(evaluation.folder, counted.run.name);
  const rows = isStopped ? [] : await rowsOf(ended, evaluation);
  if (!isStopped) await writeReports(folder, rows, ended, evaluation);
  const cells = cellsOf(rows);
  const losses = lossesOf(rows);
  const crossings = curvesOf(rows).flatMap((curve) => curve.crossings);
  const view = commandLine(["view", counted.run.name, ...asked.store.flags]);
  const isPlain = code === 0 && !ended.among.forecast;
  const lines = isPlain
    ? [`report: ${join(folder, "report.md")}, and report.html beside it; the jobs: ${view}`]
    : ended.lines;
  if (asked.json) {
    stdout.json({
      ...endJson({ ...ended, lines }),
      folder,
      data: evaluation.known,
      rows: cells,
      loses: losses,
      overtakes: crossings,
      unread: unreadOf(rows),
    });
    return;
  }
  for (const line of asked.quiet && isPlain ? [] : lines) stderr.line(line);
  if (isStopped) return;
  showTable(TITLES, cells.map(lineOf), COLUMNS, stdout);
  for (const loss of losses) stdout.line(lossLine(loss), "yellow");
  for (const crossing of crossings) stdout.line(crossingLine(crossing));
  const isWhole = evaluation.methods.length > 1 && cells.every(({ score }) => score !== null);
  const unread = unreadLine(rows);
  if (unread !== null) stdout.line(unread, "yellow");
  if (losses.length === 0 && isWhole) stdout.write("the ask loses in no suite, by the mean\n");
}

/** A narrow terminal leaves out the last columns first. */
const COLUMNS = TITLES.map((_, at): Column => (isFigure(at) ? `right ${TITLES.length - at}` : "left"));

/** A row of each question and method, also of those that are not over. */
async function rowsOf({ store, submitted }: RunEnd, { items, methods, agents }: Evaluation): Promise<EvalRow[]> {
  const run = submitted.run.id;
  const jobs = new Map<string, JobRow>();
  for await (const job of finalJobs({ run, order: submitted.order, jobs: store.jobs })) jobs.set(job.id, job);
  const endOf = async ({ n, state, told, session }: JobRow): Promise<JobEnd> => {
    const result = state === "done" ? parseJson((await store.jobs.result({ run, n })) ?? "") : null;
    const error_code = isRecord(told) && typeof told.error_code === "string" ? told.error_code : null;
    return { status: state, error_code, session, result: isRecord(result) ? result : null };
  };
  const rows: EvalRow[] = [];
  for (const { item, method } of items.flatMap((one) => methods.map((method) => ({ item: one, method })))) {
    const job = jobs.get(jobOf(item.id, method));
    // Journals of jobs go after a time; the scores stay.
    const figures = job ? await nullIf("session_not_found", figuresOf(store, job.session)) : null;
    const agent = Object.hasOwn(agents, method) ? agents[method] : null;
    rows.push(rowOf(item, method, job ? await endOf(job) : null, figures, agent));
  }
  return rows;
}

/** @throws RlmError `output_failed` */
async function writeReports(folder: string, rows: readonly EvalRow[], ended: RunEnd, evaluation: Evaluation) {
  const { asked, counted } = ended;
  const { id, name, spent } = counted.run;
  const { items, known, methods, agents, window, seed } = evaluation;
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw outputFailed(folder, error);
  });
  const dollars = spent.nanodollars > 0 ? `, $${(spent.nanodollars / 1e9).toFixed(4)}` : "";
  const roomText = (method: Method, of: number) =>
    `at most ${thousands(roomOf(method, of))} characters in a prompt, of a window of ${thousands(of)} tokens`;
  const facts: [string, string][] = [
    ["run", `${name}; its jobs: ${commandLine(["view", name, ...asked.store.flags])}`],
    ["model", `${asked.settings.model ?? "none"}, thinking ${asked.settings.thinking ?? "off"}`],
    ["questions", `${items.length}, seed ${seed}`],
    ...known.map((line): [string, string] => ["data", line]),
    ...methods.flatMap((method): [string, string][] => {
      const agent = Object.hasOwn(agents, method) ? agents[method] : undefined;
      if (agent) return [[method, agentFact(agent)]];
      return window === null || method === "ask" ? [] : [[method, roomText(method, window)]];
    }),
    ["spent by the run", `${thousands(spent.tokens)} tokens${dollars}`],
    ["Belay", version()],
  ];
  const show = ({ item, method }: EvalRow) =>
    commandLine(["show", `${name}/${jobOf(item, method)}`, ...asked.store.flags]);
  const write = (file: string, pieces: Iterable<string> | AsyncIterable<string>) =>
    writeResultFile(join(folder, file), pieces, id);
  await write("report.md", markdownOf(rows, facts, show));
  const page = staticPage(`Evaluation ${name}`, PAGE_RULES, pageBody({ rows, items, methods, facts, show }));
  await write("report.html", page);
  const linesOf = (all: readonly object[]) => all.map((one) => `${jsonText(one)}\n`);
  await write("results.jsonl", linesOf(rows));
  await write("items.jsonl", linesOf(items.map(({ expected: answer, ...item }) => ({ ...item, answer }))));
}
