import { amount } from "../figures.ts";
import type { ExecEnvelope, ExecFailure, Json, QueryEnvelope, RlmError } from "../index.ts";
import { type CallsTaken, takenLine } from "./call-line.ts";
import { jsonParts, prettyJson } from "./pretty-json.ts";
import type { Output, Style, Terminal } from "./terminal.ts";
import { inFlags } from "./wording.ts";

/**
 * An exec for people: what it printed, its result, then on stderr its meta and what sub-calls took (both on a terminal
 * only), warnings and error. A string is shown raw, null not at all, everything else as JSON.
 */
export function showEnvelope(envelope: ExecEnvelope, taken: CallsTaken | null, terminal: Terminal): void {
  const { stdout, stderr } = terminal;
  stdout.write(envelope.stdout);
  stderr.write(envelope.stderr);
  if (envelope.result_json !== null) {
    if (envelope.stdout !== "" && !envelope.stdout.endsWith("\n")) stdout.write("\n");
    showValue(envelope.result_json, stdout);
  }
  if (envelope.result_meta !== null && stderr.isTerminal) {
    stderr.write(`meta: ${prettyJson(envelope.result_meta, stderr.columns)}\n`, "dim");
  }
  showWarnings(envelope.warnings, terminal);
  if (!envelope.success) showError(envelope, taken, terminal);
  if (taken && stderr.isTerminal) stderr.write(`${takenLine(taken)}\n`, "dim");
}

/** The answer, or the notes of a query that could not put them together; on a terminal also what was read and taken. */
export function showAnswer(answer: QueryEnvelope, taken: CallsTaken | null, terminal: Terminal): void {
  const { stderr, stdout } = terminal;
  if (answer.success) showValue(answer.answer, stdout);
  else for (const { source, note } of answer.notes) showValue(`[${source}]\n${note}`, stdout);
  showWarnings(answer.warnings, terminal);
  if (!answer.success) showError(answer, taken, terminal);
  if (!stderr.isTerminal) return;
  if (answer.sections.length > 0) {
    stderr.write(`${amount(answer.sections.length, "section")} by ${answer.search_strategy_used}:\n`, "dim");
    for (const section of answer.sections) stderr.write(`  ${section}\n`, "dim");
  }
  if (taken) stderr.write(`${takenLine(taken)}\n`, "dim");
}

export function showWarnings(warnings: readonly string[], { stderr }: Terminal): void {
  for (const warning of warnings) stderr.write(`warning: ${warning}\n`, "yellow");
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

/** A value and a newline. */
export function showValue(value: Json, output: Output): void {
  if (typeof value === "string") {
    output.write(value.endsWith("\n") ? value : `${value}\n`);
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

/** A failure that is no cell's: a load, a session. */
export function showFailure(error: RlmError, { stderr }: Terminal): void {
  if (error.code === "cancelled") {
    stderr.write("cancelled\n", "red");
    return;
  }
  stderr.write(`error: ${error.message} (${error.code})\n`, "red");
  stderr.write(`suggestion: ${inFlags(error.suggestion)}\n`);
}

/** The same as one JSON object, with the fields of an exec's error envelope that it can fill. */
export function failureJson(error: RlmError, session_id: string | null): string {
  return JSON.stringify({
    success: false,
    error_code: error.code,
    error_message: error.message,
    suggestion: inFlags(error.suggestion),
    session_id,
    stdout: "",
    stderr: "",
    result_json: null,
    warnings: [],
  });
}
