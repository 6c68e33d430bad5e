import { amount, compact, dollars, duration } from "../platform/figures.ts";
import { inLine } from "../platform/visible.ts";
import { CROSSING, crossingLine, curvesOf } from "./curves.ts";
import type { EvalRow, Method } from "./rows.ts";

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0);
const mean = (numbers: readonly number[]) => (numbers.length === 0 ? null : sumOf(numbers) / numbers.length);
/** The sum of the numbers that are known; null: none is. */
function known(numbers: readonly (number | null)[]): number | null {
  const some = numbers.filter((one) => one !== null);
  return some.length === 0 ? null : sumOf(some);
}
const grouped = (rows: readonly EvalRow[]) => [
  ...Map.groupBy(rows, ({ suite, size, method }) => JSON.stringify([suite, size, method])).values(),
];

/**
 * The rows of one suite and size and method. Figures are means of the jobs that have a score;
 * counts are sums.
 */
interface Cell
  extends Pick<EvalRow, "suite" | "size" | "method" | "coverage">,
    Readonly<Record<(typeof MEANS)[number] | (typeof COUNTS)[number], number>> {
  readonly jobs: number;
  readonly scored: number;
  readonly score: number | null;
  /** The standard deviation of the scores; null: there are fewer than two. */
  readonly spread: number | null;
  readonly depth: number;
  /** Sources of all answers, and those that are in the context; null: the method names none. */
  readonly cites: number | null;
  readonly cited: number | null;
}

const MEANS = ["cost_usd", "calls", "ms", "tokens_in", "tokens_cached", "tokens_out"] as const;
const COUNTS = ["no_answer", "misformed", "refused", "resumes"] as const;

export function cellsOf(rows: readonly EvalRow[]): Cell[] {
  return grouped(rows).flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const done = group.filter(({ score }) => score !== null);
    const scores = done.map(({ score }) => score ?? 0);
    const score = mean(scores);
    const of = (value: (row: EvalRow) => number) => mean(done.map(value)) ?? 0;
    const squares = sumOf(scores.map((one) => (one - (score ?? 0)) ** 2));
    return {
      suite: first.suite,
      size: first.size,
      method: first.method,
      jobs: group.length,
      scored: done.length,
      score,
      spread: scores.length < 2 ? null : Math.sqrt(squares / (scores.length - 1)),
      cost_usd: of((row) => row.cost_usd),
      calls: of((row) => row.calls),
      ms: of((row) => row.ms),
      tokens_in: of((row) => row.tokens_in),
      tokens_cached: of((row) => row.tokens_cached),
      tokens_out: of((row) => row.tokens_out),
      depth: Math.max(0, ...done.map(({ depth }) => depth)),
      cites: known(done.map(({ cites }) => cites)),
      cited: known(done.map(({ cited }) => cited)),
      coverage: mean(done.flatMap(({ coverage }) => (coverage === null ? [] : [coverage]))),
      no_answer: done.filter((row) => row.no_answer !== null).length,
      misformed: done.filter((row) => row.misformed).length,
      refused: sumOf(done.map((row) => row.refused)),
      resumes: sumOf(done.map((row) => row.resumes)),
    };
  });
}

/**
 * The places where another method has the better mean over the questions that it and the ask have
 * answered.
 */
interface Loss extends Pick<EvalRow, "suite" | "size"> {
  /** The better method. */
  readonly to: Method;
  /** Means of the scores. */
  readonly ask: number;
  readonly other: number;
  readonly questions: number;
  /** Ids of the questions in which the ask is worse. */
  readonly worse: readonly string[];
}

export function lossesOf(rows: readonly EvalRow[]): Loss[] {
  const asks = new Map(rows.flatMap(({ item, method, score }) => (method === "ask" ? [[item, score]] : [])));
  return grouped(rows).flatMap((group) => {
    const both = group.flatMap(({ item, score: other }) => {
      const ask = asks.get(item) ?? null;
      return other === null || ask === null ? [] : [{ item, ask, other }];
    });
    const first = group[0];
    const ask = mean(both.map((one) => one.ask));
    const other = mean(both.map((one) => one.other));
    if (!first || ask === null || other === null || ask >= other) return [];
    const worse = both.filter((one) => one.ask < one.other).map(({ item }) => item);
    return { suite: first.suite, size: first.size, to: first.method, ask, other, questions: both.length, worse };
  });
}

/** `the ask loses to direct in needle at 8k: 0.80 against 1.00, worse in 1 of 5 (needle-8k-3)` */
export function lossLine(loss: Loss): string {
  const { suite, size, to, ask, other, questions, worse } = loss;
  const named = `${worse.slice(0, NAMED).join(", ")}${worse.length > NAMED ? ", …" : ""}`;
  const scores = `${ask.toFixed(2)} against ${other.toFixed(2)}`;
  const share = `worse in ${worse.length} of ${questions} (${named})`;
  return `the ask loses to ${to} in ${suite} at ${size}: ${scores}, ${share}`;
}

/**
 * Questions with files in their contexts that should have text and could not be read, and how many
 * files they are.
 */
export function unreadOf(rows: readonly EvalRow[]): { readonly item: string; readonly files: number }[] {
  const lacking = new Map(rows.map(({ item, unread }) => [item, unread]));
  return [...lacking].filter(([, files]) => files > 0).map(([item, files]) => ({ item, files }));
}

/**
 * `files of the contexts of 2 questions could not be read: lease-1 (2 files), …`, or null if all
 * were read.
 */
export function unreadLine(rows: readonly EvalRow[]): string | null {
  const lacking = unreadOf(rows);
  if (lacking.length === 0) return null;
  const named = lacking.slice(0, NAMED).map(({ item, files }) => `${item} (${amount(files, "file")})`);
  const rest = lacking.length > named.length ? [...named, "…"] : named;
  return `files of the contexts of ${amount(lacking.length, "question")} could not be read: ${rest.join(", ")}`;
}

const NAMED = 5;

/** Titles of a table of cells; those of figures, from the fourth on, are on the right. */
export const TITLES =
  "suite,size,method,score,n,cost,in,cached,out,calls,depth,time,seen,cited,no answer,misformed,refused,resumes".split(
    ",",
  );
export const isFigure = (column: number) => column > 2;
/** The column behind the score and the number of questions. */
const FIGURES_FROM = 5;

export function lineOf(cell: Cell): string[] {
  const { suite, size, method, score, spread, scored, jobs, coverage } = cell;
  if (score === null) return [suite, size, method, "-", `0 of ${jobs}`, ...TITLES.slice(FIGURES_FROM).map(() => "-")];
  return [
    ...[suite, size, method],
    `${score.toFixed(2)}${spread === null ? "" : ` ±${spread.toFixed(2)}`}`,
    scored === jobs ? String(jobs) : `${scored} of ${jobs}`,
    cell.cost_usd > 0 ? dollars(cell.cost_usd) : "-",
    ...[cell.tokens_in, cell.tokens_cached, cell.tokens_out].map((tokens) => compact(Math.round(tokens))),
    ...[cell.calls.toFixed(1), String(cell.depth), duration(cell.ms)],
    coverage === null ? "-" : `${Math.floor(100 * coverage)} %`,
    cell.cites === null ? "-" : `${cell.cited} of ${cell.cites}`,
    ...[cell.no_answer, cell.misformed, cell.refused, cell.resumes].map(String),
  ];
}

/**
 * The report in Markdown.
 *
 * @param facts name and value of each setting
 * @param show the line that shows a job
 */
export function* markdownOf(
  rows: readonly EvalRow[],
  facts: readonly (readonly [string, string])[],
  show: (row: EvalRow) => string,
): Generator<string> {
  yield "# Evaluation\n\n";
  for (const [name, value] of facts) yield `- ${name}: ${safe(value)}\n`;
  yield "\n[report.html](report.html) is the same as a page, with the questions, their answers and the curves. ";
  yield "Each answer is a line of [results.jsonl](results.jsonl), ";
  yield "and each question one of [items.jsonl](items.jsonl).\n\n";
  yield `| ${TITLES.join(" | ")} |\n|${TITLES.map((_, at) => (isFigure(at) ? "--:|" : "---|")).join("")}\n`;
  for (const cell of cellsOf(rows)) yield `| ${lineOf(cell).map(safe).join(" | ")} |\n`;
  yield EXPLANATION;
  const losses = lossesOf(rows);
  if (losses.length === 0) yield "In no suite, by the questions that both have answered.\n";
  for (const loss of losses) yield `- ${safe(lossLine(loss))}\n`;
  const curves = curvesOf(rows);
  if (curves.length > 0) yield `\n## Where the ask overtakes\n\n${CROSSING}\n\n`;
  for (const crossing of curves.flatMap(({ crossings }) => crossings)) yield `- ${safe(crossingLine(crossing))}\n`;
  const unread = unreadLine(rows);
  if (unread !== null) yield `\n## What was not read\n\n- ${safe(unread)}\n`;
  const bad = rows.filter(({ score, no_answer, misformed }) => score === null || no_answer !== null || misformed);
  if (bad.length > 0) yield "\n## Jobs without an answer that can be read\n\n";
  for (const row of bad) {
    const why = row.no_answer ?? (row.misformed ? "another form" : (row.error_code ?? row.status));
    yield `- ${safe(`${row.item}, ${row.method}: ${why}`)}; \`${show(row).replaceAll("`", "'")}\`\n`;
  }
}

const EXPLANATION =
  "\nScores are means with their standard deviation, other figures means of a question; the last four are sums. " +
  "`seen` is the share of the context that a model was shown, at the least. `cited` counts the sources of all answers " +
  "that are in the context, of those that the answers name.\n\n## Where the ask loses\n\n";

/** Text from elsewhere as text of a table: no markup, and one line. */
const safe = (text: string) => inLine(text).replaceAll(/[\\`|<>[\]*_]/g, "\\$&");
