import type { ExecEnvelope, Json, RlmError } from "../index.ts";
import { jsonParts, prettyJson } from "./pretty-json.ts";
import type { Output, Style, Terminal } from "./terminal.ts";

/**
 * An exec for people: what it printed, its result, then on stderr its meta (on a terminal only), warnings and error.
 * A string is shown raw, null not at all, everything else as JSON.
 */
export function showEnvelope(envelope: ExecEnvelope, { stdout, stderr }: Terminal): void {
  stdout.write(envelope.stdout);
  stderr.write(envelope.stderr);
  if (envelope.result_json !== null) {
    if (envelope.stdout !== "" && !envelope.stdout.endsWith("\n")) stdout.write("\n");
    showValue(envelope.result_json, stdout);
  }
  if (envelope.result_meta !== null && stderr.isTerminal) {
    stderr.write(`meta: ${prettyJson(envelope.result_meta, stderr.columns)}\n`, "dim");
  }
  for (const warning of envelope.warnings) stderr.write(`warning: ${warning}\n`, "yellow");
  if (envelope.success) return;
  if (envelope.error_code === "cancelled") {
    stderr.write("cancelled\n", "red");
    return;
  }
  stderr.write(`${envelope.traceback}\n`, "red");
  if (envelope.suggestion) stderr.write(`suggestion: ${envelope.suggestion}\n`);
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
  stderr.write(`suggestion: ${error.suggestion}\n`);
}

/** The same as one JSON object, with the fields of an exec's error envelope that it can fill. */
export function failureJson(error: RlmError, session_id: string | null): string {
  return JSON.stringify({
    success: false,
    error_code: error.code,
    error_message: error.message,
    suggestion: error.suggestion,
    session_id,
    stdout: "",
    stderr: "",
    result_json: null,
    warnings: [],
  });
}
