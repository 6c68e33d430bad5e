import type { ExecEnvelope } from "../journal/envelope.ts";
import type { RemainingBudget } from "../journal/ledger.ts";
import { partsOfWarning, type WarningCures, warningSentence } from "../warnings.ts";

/** A longer observation is cut: UTF-16 units of the whole, and what stays of its beginning and its end. */
export const WHOLE_UNITS = 10_000;
export const FIRST_UNITS = 6_000;
const LAST_UNITS = 3_000;

/** The observation of a cell that ran, as the root model gets it. */
export function observationOf(envelope: ExecEnvelope): string {
  const { stdout, stderr, result_json, warnings } = envelope;
  const parts = [
    stdout.trimEnd(),
    ...(stderr === "" ? [] : [`[stderr]\n${stderr.trimEnd()}`]),
    ...(result_json === null ? [] : [`[result]\n${JSON.stringify(result_json)}`]),
    ...(envelope.success ? [] : [errorOf(envelope)]),
    ...(warnings.length === 0 ? [] : [`[warnings]\n${warnings.map(warningForModel).join("\n")}`]),
  ].filter((part) => part !== "");
  return parts.length === 0 ? NO_OUTPUT : cut(parts.join("\n"));
}

const NO_OUTPUT = "(no output: print something, or end with an expression)";

function errorOf({ error_code, error_message, traceback, suggestion }: Extract<ExecEnvelope, { success: false }>) {
  const lines = [traceback === "" ? error_message : traceback.trimEnd(), suggestion];
  return `[error ${error_code}]\n${lines.filter((line) => line !== "").join("\n")}`;
}

function cut(text: string): string {
  if (text.length <= WHOLE_UNITS) return text;
  const first = wholeUnits(text.slice(0, FIRST_UNITS));
  const last = wholeUnits(text.slice(-LAST_UNITS));
  const left = text.length - first.length - last.length;
  return `${first}\n[… ${left} of ${text.length} characters are left out: print less, or slice …]\n${last}`;
}

/** Without half of a character that a cut went through. */
const wholeUnits = (text: string) => text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "");

/** The line under the observations of a turn. @param turns that are done, of `most` */
export function footerOf(turns: number, most: number, left: RemainingBudget): string {
  const { remaining_sub_calls, remaining_tokens, remaining_cost_usd } = left;
  const dollars = remaining_cost_usd === undefined ? "" : `, $${remaining_cost_usd.toFixed(2)}`;
  return `[turn ${turns} of ${most} done; left: ${remaining_sub_calls} sub-calls, ${remaining_tokens} tokens${dollars}]`;
}

/** The cures that the model of an ask has: it writes cells, and no setting is its own. */
const CURES: WarningCures = {
  moreMatches: "narrow the pattern, or count it with count(pattern)",
  moreOutput: "print less",
  largeResult: "keep it in a variable and end the cell with a part of it",
  moreSubCalls: "budget() says how many are left",
  removeHelper: "removed with helpers.remove(NAME)",
  otherModel: "another one can be named in a call",
  raiseLimit: () => "budget() says what is left",
};

/** A warning behind its code, as the model of an ask reads it. */
export function warningForModel(warning: string): string {
  const { code, detail } = partsOfWarning(warning);
  const sentence = code === "state_restored" ? restored(detail) : warningSentence(warning, {}, CURES);
  return sentence === null || sentence === detail ? warning : `${code}: ${sentence}`;
}

/** @param detail the checkpoint, and `after 2 of 5 sub-calls`; it is from before the cell if no call had ended */
function restored(detail: string): string {
  const [, done = "0", all = "0"] = / after (\d+) of (\d+) sub-calls$/.exec(detail) ?? [];
  const when = done === "0" ? "before this cell" : `when ${done} of ${all} sub-calls of this cell were answered`;
  return `what the cell made was lost with its sandbox; variables are as they were ${when}`;
}
