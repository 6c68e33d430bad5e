import { unreadSentence } from "../../context/index.ts";
import {
  type CallEstimate,
  type DryRun,
  type ExecEnvelope,
  type ExecLimits,
  type Json,
  type QueryEnvelope,
  RlmError,
} from "../../index.ts";
import { amount, compact, dollars, size } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import { heldBackText, partsOfWarning } from "../../session/index.ts";
import type { Format } from "../flags/declared.ts";
import { type CallTotals, takenLine } from "./calls.ts";
import { showError } from "./failure.ts";
import { formatted } from "./formats.ts";
import { table } from "./table.ts";
import { type Output, type Terminal, writeData } from "./terminal.ts";
import { prettyJson, showValue } from "./value.ts";
import { isResultLeftOut, warningText } from "./warnings.ts";
import { inFlags } from "./wording.ts";

/** The outcome of an exec or of a query. */
export type Outcome = ExecEnvelope | QueryEnvelope;

/** A file that a result was written to. */
export interface Written {
  readonly path: string;
  readonly bytes: number;
}

/** The way in which the result of an exec is delivered. */
export interface Showing {
  /** The format of the last result, which then is all that stdout has; null: as people read it. */
  readonly format: Format | null;
  readonly isLast: boolean;
  /** The file that the result is in. */
  readonly written: Written | null;
  /** The limits that held; used if the outcome does not say it. */
  readonly limits: ExecLimits;
  /** A line that prints the result as JSON; null: nothing of it is kept. */
  readonly again: string | null;
}

/** The way in which results are shown on a terminal on which cells are typed. */
export function inConversation(limits: ExecLimits, written: Written | null = null): Showing {
  return { format: null, isLast: true, written, limits, again: null };
}

/**
 * Shows an exec or a query to people: its output and its result, then on stderr warnings and error.
 * A terminal also has the meta, what was read, and the cost of sub-calls. A string is shown raw,
 * null not at all, everything else as JSON. Returns false, and says so, if the result does not fit
 * its format.
 */
export function showOutcome(envelope: Outcome, taken: CallTotals | null, terminal: Terminal, showing: Showing) {
  const { stderr } = terminal;
  const isQuery = "answer" in envelope;
  const isShown = isQuery ? showAnswer(envelope, terminal, showing) : showExec(envelope, terminal, showing);
  showWarnings(envelope.warnings, isQuery ? showing.limits : envelope.limits_applied, terminal, showing.written);
  if (!envelope.success) showError(envelope, taken, terminal);
  if (isQuery && stderr.isTerminal) showSections(envelope, stderr);
  const unread = isQuery && envelope.skipped ? unreadSentence(envelope.skipped) : null;
  if (unread !== null) stderr.write(`${unread}\n`, "dim");
  if (taken && stderr.isTerminal) stderr.write(`${takenLine(taken)}\n`, "dim");
  return isShown;
}

function showExec(envelope: ExecEnvelope, terminal: Terminal, showing: Showing): boolean {
  const { stdout, stderr } = terminal;
  writeData(showing.format === null ? stdout : stderr, envelope.stdout);
  writeData(stderr, envelope.stderr);
  const isInLine = envelope.stdout !== "" && !envelope.stdout.endsWith("\n");
  const isShown = !envelope.success || showResult(envelope, { ...showing, isInLine }, terminal);
  if (envelope.result_meta !== null && stderr.isTerminal) {
    stderr.write(`meta: ${prettyJson(envelope.result_meta, stderr.columns)}\n`, "dim");
  }
  return isShown;
}

/** The answer, or the notes of a query that could not put them together. */
function showAnswer(answer: QueryEnvelope, terminal: Terminal, showing: Showing): boolean {
  if (answer.success) return showResult({ ...answer, result_json: answer.answer }, showing, terminal);
  const output = showing.format === null ? terminal.stdout : terminal.stderr;
  for (const { source, note } of answer.notes) showValue(`[${inLine(source)}]\n${note}`, output);
  return true;
}

function showSections({ sections, results, search_strategy_used: strategy }: QueryEnvelope, stderr: Output): void {
  if (sections.length === 0) return;
  const by = strategy === null ? "" : ` by ${strategy}`;
  stderr.write(`${amount(sections.length, results ? "text" : "section")}${by}:\n`, "dim");
  for (const section of sections) stderr.line(`  ${section}`, "dim");
}

/**
 * Writes a result to where the user wants it. Returns false, and says so, if the result does not
 * fit its format.
 */
function showResult(
  { result_json, warnings }: { readonly result_json: Json; readonly warnings: readonly string[] },
  { format, isLast, written, again, isInLine = false }: Showing & { readonly isInLine?: boolean },
  { stdout, stderr }: Terminal,
): boolean {
  if (written) {
    if (stderr.isTerminal) stderr.write(`wrote ${inLine(written.path)} (${size(written.bytes)})\n`, "dim");
    return true;
  }
  if (format === null) {
    if (result_json !== null && isInLine) stdout.write("\n");
    if (result_json !== null) showValue(result_json, stdout);
    return true;
  }
  // A result that was left out is not null.
  if (!isLast || warnings.some(isResultLeftOut)) return true;
  const json = JSON.stringify(result_json);
  try {
    writeData(stdout, [...formatted(json, format, stdout)].join(""));
    return true;
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    const cure = again === null ? "it is on stdout as JSON" : `\`${again}\` prints it as JSON`;
    stderr.line(`error: ${error.message}`, "red");
    stderr.write(`suggestion: Use --format json, or change what the cell returns; ${cure}.\n`);
    // It would be lost otherwise.
    if (again === null) writeData(stdout, `${json}\n`);
    return false;
  }
}

/** True if the load itself has said it on stderr. */
const isToldByLoad = (warning: string) => TOLD_BY_LOAD.includes(partsOfWarning(warning).code);

const TOLD_BY_LOAD = ["documents_lost", "places_capped", "files_skipped"];

/** Warnings as sentences; `--json` has their codes. */
export function showWarnings(
  warnings: readonly string[],
  limits: ExecLimits,
  { stderr }: Terminal,
  written: Written | null = null,
): void {
  for (const warning of warnings) {
    if ((written && isResultLeftOut(warning)) || isToldByLoad(warning)) continue;
    stderr.line(`warning: ${warningText(warning, limits)}`, "yellow");
  }
}

/**
 * The estimate for people: a line for each place in the cell that makes sub-calls, then the sum of
 * them.
 */
export function showDryRun({ envelope, estimate }: DryRun, terminal: Terminal): void {
  const { sites, partial, reused = 0 } = estimate;
  const rows = sites.map(({ site, ...of }) => [site, ...cellsOf(of)]);
  if (sites.length > 1) rows.push(["all", ...cellsOf(estimate)]);
  const answered = reused > 0 ? [`${amount(reused, "answer is", "answers are")} on record`] : [];
  if (rows.length === 0) terminal.stdout.write(`${["no sub-calls", ...answered].join(": ")}\n`);
  for (const line of table(rows, ["left", "left", "left", "left", "left"])) terminal.stdout.write(`${line}\n`);
  if (rows.length > 0) for (const line of answered) terminal.stdout.write(`${line}\n`);
  if (estimate.max_requests > estimate.sub_calls - estimate.children) {
    const most = `up to ${estimate.max_requests} requests`;
    terminal.stdout.write(`of first requests: with all turns of sub-agents and repairs there may be ${most}\n`);
  }
  if (estimate.held_back) terminal.stdout.write(`by provider batch ${inFlags(heldBackText(estimate.held_back))}\n`);
  if (estimate.children > 0) terminal.stdout.write(`${ofChildren(estimate)}\n`);
  for (const line of ofAgents(estimate)) terminal.stdout.write(`${line}\n`);
  if (partial) terminal.stdout.write("partial: the cell did not come to its end, so the real run may take more\n");
  showWarnings(envelope.warnings, envelope.limits_applied, terminal);
  if (!envelope.success) showError(envelope, null, terminal);
}

/** `not in these figures: 2 calls with a context of their own …` */
function ofChildren({ children, child_sub_calls }: CallEstimate): string {
  const calls = `${amount(children, "call")} with a context of ${children === 1 ? "its" : "their"} own`;
  return `not in these figures: ${calls}, with up to ${amount(child_sub_calls, "further sub-call")}; what they take depends on what their models find`;
}

/** `not in these figures: the dollars of 3 calls of agents …` */
function ofAgents({ unpriced, uncounted }: CallEstimate): string[] {
  const gaps = [
    ["dollars", unpriced, "max_usd in the entry of an agent says what one may cost"],
    ["tokens", uncounted, "the agent does not tell them; max_tokens in its entry says what one may take"],
  ] as const;
  return gaps.flatMap(([what, count, cure]) => {
    if (count === 0) return [];
    return [`not in these figures: the ${what} of ${amount(count, "call of an agent", "calls of agents")}; ${cure}`];
  });
}

/** `12 sub-calls`, `~34k tokens in`, `up to 49k out`, `up to ~$0.42`. */
function cellsOf({ sub_calls, children, input_tokens, max_output_tokens, cost_usd }: CallEstimate): string[] {
  if (sub_calls === children) return [amount(sub_calls, "sub-call"), "not known before", "", ""];
  return [
    amount(sub_calls, "sub-call"),
    `~${compact(input_tokens)} tokens in`,
    `up to ${compact(max_output_tokens)} out`,
    cost_usd > 0 ? `up to ~${dollars(cost_usd)}` : "price not known",
  ];
}
