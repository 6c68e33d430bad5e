import { remedy } from "../../../runtime/index.ts";
import { type ExecFailure, RlmError } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { cutText, inLine, jsonText } from "../../platform/visible.ts";
import { emptyEnvelope } from "../../session/empty-envelope.ts";
import { withoutPasswords } from "../../store/store-place.ts";
import type { CallTotals } from "./calls.ts";
import type { Output, Terminal } from "./terminal.ts";
import { inFlags } from "./wording.ts";

type Told = Pick<ExecFailure, "error_code" | "traceback" | "suggestion">;

/** The failure of a cell or query. */
export function showError(failure: Told, taken: CallTotals | null, { stderr }: Terminal): void {
  if (failure.error_code === "cancelled") {
    const calls = taken ? `: ${amount(taken.done, "sub-call")} done, ${taken.unfinished} given up` : "";
    stderr.write(`cancelled${calls}\n`, "red");
    return;
  }
  stderr.write(`${failure.traceback}\n`, "red");
  if (failure.suggestion) stderr.line(`suggestion: ${inFlags(failure.suggestion)}`);
}

/** A failure outside cells: of a load or a session. */
export function showFailure(error: RlmError, { stderr }: Terminal): void {
  if (error.code === "cancelled") {
    stderr.write("cancelled\n", "red");
    return;
  }
  stderr.write(`error: ${inLine(withoutPasswords(error.message))} (${error.code})\n`, "red");
  stderr.line(`suggestion: ${withoutPasswords(inFlags(error.suggestion))}`);
}

/**
 * Reports a failure of a command. Gives the exit code.
 *
 * @throws the error itself if it is not an RlmError
 */
export function reportFailure(error: unknown, terminal: Terminal, isJson: boolean): number {
  if (!(error instanceof RlmError)) throw error;
  if (isJson) terminal.stdout.writeRaw(`${failureJson(error, null)}\n`);
  else showFailure(error, terminal);
  return 1;
}

/** A failure outside cells as one JSON object, with every field of an exec's error envelope. */
export function failureJson(error: RlmError, session_id: string | null): string {
  return jsonText({ ...failureFields(error), ...emptyEnvelope, session_id });
}

/** The fields of a failure. */
function failureFields({ code, message, suggestion }: RlmError) {
  const cure = withoutPasswords(inFlags(suggestion));
  return { success: false, error_code: code, error_message: withoutPasswords(message), suggestion: cure };
}

/**
 * The error for rows that cannot be read; null: all can.
 *
 * @param lines one for each row or stretch of rows
 */
export function damageError(
  lines: readonly string[],
  { rest = "Only what can be read is shown", cure = DROP_SESSION } = {},
): RlmError | null {
  if (lines.length === 0) return null;
  const shown = lines.slice(0, SHOWN);
  const more = lines.length - shown.length;
  const problem = `${shown.join("; ")}${more > 0 ? `; ${more} more` : ""}. ${rest}`;
  return new RlmError("store_corrupt", problem, {
    suggestion: `To see all that is damaged ${remedy("verify")}; ${cure}.`,
  });
}

/** Names on stderr the sessions that a command passes over, because it cannot read them. */
export function passedOver(stderr: Output): (row: { readonly problem: string }) => void {
  return ({ problem }) => stderr.write(`${problem}: it is skipped; belay doctor lists all damage\n`, "yellow");
}

const DROP_SESSION = `${remedy("removeSession")} that is`;
const SHOWN = 10;

/** The outcome of such a command, for programs. */
export const outcomeOf = (damage: RlmError | null) => (damage ? failureFields(damage) : { success: true });

/**
 * `rate_limited: openai/gpt-6-sol: 429 You exceeded your current quota`, on one line.
 *
 * @param units of the words at most
 */
export function failureText(
  failure: { readonly error_code: string; readonly error: string },
  units = WHY_UNITS,
): string {
  const { error_code, error } = failure;
  return error === "" ? error_code : `${error_code}: ${oneLine(error, units)}`;
}

/** A text on one line; one of more units ends with `…`. */
export function oneLine(text: string, units = WHY_UNITS): string {
  return cutText(text.replaceAll(/\s+/g, " "), units);
}

const WHY_UNITS = 200;
