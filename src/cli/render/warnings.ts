import { remedy } from "../../../runtime/index.ts";
import { amount } from "../../figures.ts";
import { type ExecLimits, LIMITS } from "../../index.ts";
import { inFlags } from "./wording.ts";

/** What a warning's text after its code, and the limits that held, tell people. */
type Telling = (detail: string, limits: ExecLimits) => string;

const TELLING: Readonly<Record<string, Telling>> = {
  find_results_capped: (_, { max_find_results }) =>
    `find stopped at ${amount(max_find_results, "match", "matches")}; --max-find-results N`,
  list_docs_capped: (detail) => detail,
  output_truncated: (detail) => `the cell printed ${exceeding(detail, "is shown")}; --max-output-bytes N`,
  result_too_large: (detail) => tooLarge(detail),
  result_not_serializable: (detail) => `JSON cannot hold ${detail}: it is null in the result`,
  tool_override_denied: () => "a sub-call asked for tools that are not allowed, and was not sent",
  unawaited_sub_calls: (detail) =>
    `${amount(Number(detail), "sub-call")} ended with the cell before an answer came; await every call`,
  unawaited_value_in_prompt: () => 'a prompt has "[object Promise]" in it: a value was not awaited',
  unhandled_rejection: (detail) => `a promise failed, and nothing handled it: ${detail}`,
  state_restored: (detail) => `what the cell left could not be kept; variables are those of ${detail}`,
  helper_set_aside: (detail) =>
    `a helper failed and is left out until it is added again, or removed in a cell with helpers.remove(NAME): ${detail}`,
  variables_lost: (detail) => detail,
  builtin_shadowed: (detail) => `${detail} is from here on what the cell declared, and no longer the builtin`,
  query_sampled: (detail) => detail,
  query_words: (detail) => detail,
  sections_clamped: (detail) => `${detail}; --max-sub-calls N`,
  sections_failed: (detail) => `${amount(Number(detail), "section")} could not be read: the sub-call failed`,
};

/** Warnings that say: not all that was asked for is there. */
const LOSSES = [
  "find_results_capped",
  "list_docs_capped",
  "output_truncated",
  "result_too_large",
  "result_not_serializable",
  "sections_clamped",
  "sections_failed",
];

/** A warning as a sentence, with the flag that changes it; one that is not known here as it is. */
export function warningText(warning: string, limits: ExecLimits): string {
  const { code, detail } = partsOf(warning);
  return (Object.hasOwn(TELLING, code) ? TELLING[code]?.(detail, limits) : undefined) ?? warning;
}

/** @param isWritten the result is whole in a file */
export function hasLoss(warnings: readonly string[], isWritten: boolean): boolean {
  const codes = warnings.map((warning) => partsOf(warning).code);
  return codes.some((code) => LOSSES.includes(code) && !(isWritten && code === RESULT_LEFT_OUT));
}

const RESULT_LEFT_OUT = "result_too_large";

/** The result was left out. It may still have been written to a file whole. */
export function isResultLeftOut(warning: string): boolean {
  return partsOf(warning).code === RESULT_LEFT_OUT;
}

function partsOf(warning: string): { readonly code: string; readonly detail: string } {
  const [, code = warning, detail = ""] = /^(\w+)(?:: (.*))?$/s.exec(warning) ?? [];
  return { code, detail };
}

/** `2 MB, and 100 KB of it is shown` of `2 MB > 100 KB`. */
function exceeding(detail: string, fate: string): string {
  const [has, limit] = detail.split(" > ");
  return limit === undefined ? `more than ${fate}` : `${has}, and ${limit} of it ${fate}`;
}

/** What the runtime says of a limit that no setting changes. */
const EARLIER_BUILD = " in a session of an earlier build";

function tooLarge(detail: string): string {
  const [has = detail, limit] = detail.split(" > ");
  const most = `${LIMITS.wholeResultBytes / 2 ** 20} MB`;
  if (limit === most) return `the result has ${has}, and ${most} is the most that can be written; return less`;
  if (limit?.endsWith(EARLIER_BUILD)) {
    const kept = limit.slice(0, -EARLIER_BUILD.length);
    const cure = inFlags(remedy("beginAnew"));
    return `the result has ${has}, and a session that an earlier build began keeps ${kept} at most; ${cure}`;
  }
  const over = limit === undefined ? "" : `, and the limit is ${limit}`;
  return `the result has ${has}${over}, so it is left out; --output FILE writes it, --max-result-bytes N shows it`;
}
