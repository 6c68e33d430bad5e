import { amount, size } from "../../figures.ts";
import {
  type ExecEnvelope,
  type ExecFailure,
  type ExecLimits,
  type Json,
  type QueryEnvelope,
  RlmError,
} from "../../index.ts";
import { NOTHING_RUN } from "../../session/index.ts";
import type { Format } from "../flags/declared.ts";
import type { Written } from "../running/delivery.ts";
import { type CallsTaken, takenLine } from "./calls.ts";
import { formatted } from "./formats.ts";
import { jsonParts, prettyJson } from "./json.ts";
import { placeLine, placesIn } from "./places.ts";
import type { Output, Style, Terminal } from "./terminal.ts";
import { isResultLeftOut, warningText } from "./warnings.ts";
import { inFlags } from "./wording.ts";

/** What is done with the result of an exec. */
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

/** For a terminal on which cells are typed. */
export const inConversation = (limits: ExecLimits, written: Written | null = null): Showing => ({
  format: null,
  isLast: true,
  written,
  limits,
  again: null,
});

/**
 * An exec for people: what it printed, its result, then on stderr its meta and what sub-calls took (both on a terminal
 * only), warnings and error. A string is shown raw, null not at all, everything else as JSON. False if the result does not
 * fit its format, which is then told.
 */
export function showEnvelope(
  envelope: ExecEnvelope,
  taken: CallsTaken | null,
  terminal: Terminal,
  showing: Showing,
): boolean {
  const { stdout, stderr } = terminal;
  (showing.format === null ? stdout : stderr).write(envelope.stdout);
  stderr.write(envelope.stderr);
  const isInLine = envelope.stdout !== "" && !envelope.stdout.endsWith("\n");
  const isShown = !envelope.success || showResult(envelope, { ...showing, isInLine }, terminal);
  if (envelope.result_meta !== null && stderr.isTerminal) {
    stderr.write(`meta: ${prettyJson(envelope.result_meta, stderr.columns)}\n`, "dim");
  }
  showWarnings(envelope.warnings, envelope.limits_applied, terminal, showing.written);
  if (!envelope.success) showError(envelope, taken, terminal);
  if (taken && stderr.isTerminal) stderr.write(`${takenLine(taken)}\n`, "dim");
  return isShown;
}

/**
 * The answer, or the notes of a query that could not put them together; on a terminal also what was read and taken. As
 * `showEnvelope`.
 */
export function showAnswer(
  answer: QueryEnvelope,
  taken: CallsTaken | null,
  terminal: Terminal,
  showing: Showing,
): boolean {
  const { stderr, stdout } = terminal;
  const isShown =
    !answer.success || showResult({ result_json: answer.answer, warnings: answer.warnings }, showing, terminal);
  for (const { source, note } of answer.success ? [] : answer.notes) {
    showValue(`[${source}]\n${note}`, showing.format === null ? stdout : stderr);
  }
  showWarnings(answer.warnings, showing.limits, terminal, showing.written);
  if (!answer.success) showError(answer, taken, terminal);
  if (!stderr.isTerminal) return isShown;
  if (answer.sections.length > 0) {
    stderr.write(`${amount(answer.sections.length, "section")} by ${answer.search_strategy_used}:\n`, "dim");
    for (const section of answer.sections) stderr.write(`  ${section}\n`, "dim");
  }
  if (taken) stderr.write(`${takenLine(taken)}\n`, "dim");
  return isShown;
}

/** Writes a result to where the user wants it. Returns false, and says so, if the result does not fit its format. */
function showResult(
  { result_json, warnings }: { readonly result_json: Json; readonly warnings: readonly string[] },
  { format, isLast, written, again, isInLine = false }: Showing & { readonly isInLine?: boolean },
  { stdout, stderr }: Terminal,
): boolean {
  if (written) {
    if (stderr.isTerminal) stderr.write(`wrote ${written.path} (${size(written.bytes)})\n`, "dim");
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
    stdout.write([...formatted(json, format)].join(""));
    return true;
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    showMisfit(error, again, stderr);
    if (again === null) stdout.write(`${json}\n`);
    return false;
  }
}

/** @param again prints the result; null: it is printed as JSON, since it would be lost otherwise */
function showMisfit({ message }: RlmError, again: string | null, stderr: Output): void {
  const cure = again === null ? "it is on stdout as JSON" : `\`${again}\` prints it as JSON`;
  stderr.write(`error: ${message}\n`, "red");
  stderr.write(`suggestion: Use --format json, or change what the cell returns; ${cure}.\n`);
}

/** Warnings as sentences; `--json` has their codes. */
export function showWarnings(
  warnings: readonly string[],
  limits: ExecLimits,
  { stderr }: Terminal,
  written: Written | null = null,
): void {
  for (const warning of warnings) {
    if (written && isResultLeftOut(warning)) continue;
    stderr.write(`warning: ${warningText(warning, limits)}\n`, "yellow");
  }
}

/** Why a cell or query failed. */
export function showError(failure: ExecFailure, taken: CallsTaken | null, { stderr }: Terminal): void {
  if (failure.error_code === "cancelled") {
    const calls = taken ? `: ${amount(taken.done, "sub-call")} done, ${taken.unfinished} given up` : "";
    stderr.write(`cancelled${calls}\n`, "red");
    return;
  }
  stderr.write(`${failure.traceback}\n`, "red");
  if (failure.suggestion) stderr.write(`suggestion: ${inFlags(failure.suggestion)}\n`);
}

/** A value and a newline; on a terminal a line for each place, if it is nothing but places. */
export function showValue(value: Json, output: Output): void {
  if (typeof value === "string") {
    output.write(value.endsWith("\n") ? value : `${value}\n`);
    return;
  }
  const places = output.isTerminal ? placesIn(value) : null;
  if (places) {
    output.writeRaw(places.map((place) => `${placeLine(place, output)}\n`).join(""));
    return;
  }
  const json = prettyJson(value, output.columns);
  if (!output.colours) output.write(`${json}\n`);
  else
    output.writeRaw(
      `${jsonParts(json)
        .map(({ text, kind }) => output.paint(text, COLOURS[kind]))
        .join("")}\n`,
    );
}

const COLOURS: Record<ReturnType<typeof jsonParts>[number]["kind"], Style | undefined> = {
  key: "cyan",
  string: "green",
  number: "yellow",
  word: "magenta",
  other: undefined,
};

/** A failure outside cells: of a load or a session. */
export function showFailure(error: RlmError, { stderr }: Terminal): void {
  if (error.code === "cancelled") {
    stderr.write("cancelled\n", "red");
    return;
  }
  stderr.write(`error: ${error.message} (${error.code})\n`, "red");
  stderr.write(`suggestion: ${inFlags(error.suggestion)}\n`);
}

/** Such a failure as one JSON object, with every field of an exec's error envelope. */
export function failureJson(error: RlmError, session_id: string | null): string {
  return JSON.stringify({
    success: false,
    error_code: error.code,
    error_message: error.message,
    suggestion: inFlags(error.suggestion),
    ...NOTHING_RUN,
    session_id,
  });
}
