import type { ExecLimits } from "../../index.ts";
import { partsOfWarning, type WarningCures, warningSentence } from "../../session/index.ts";

const CURES: WarningCures = {
  moreMatches: "--max-find-results N",
  moreOutput: "--max-output-bytes N",
  largeResult: "--output FILE writes it, --max-result-bytes N shows it",
  moreSubCalls: "--max-sub-calls N",
  removeHelper: "removed in a cell with helpers.remove(NAME)",
  otherModel: "--model names another one",
  raiseLimit: (limit) => `${limitFlag(limit)} N raises it`,
};

/** The flag that raises a limit: `--max-sub-calls` of `sub_calls`. */
export const limitFlag = (limit: string) => `--max-${limit.replaceAll("_", "-")}`;

/** Warnings that say: not all that was asked for is there. */
const LOSSES = [
  "find_results_capped",
  "limit_met",
  "list_docs_capped",
  "output_truncated",
  "result_too_large",
  "result_not_serializable",
  "sections_clamped",
  "sections_failed",
  "sub_calls_failed",
];

/** A warning as a sentence, with the flag that changes it; one that is not known here as it is. */
export function warningText(warning: string, limits: Partial<ExecLimits> = {}, cures = CURES): string {
  return warningSentence(warning, limits, cures) ?? warning;
}

/** As `warningText`, of a job: its result is a part of the results. */
export const jobWarningText = (warning: string) =>
  warningText(warning, {}, { ...CURES, largeResult: "--max-result-bytes N lets it in" });

/** @param isWritten the result is whole in a file */
export function hasLoss(warnings: readonly string[], isWritten: boolean): boolean {
  const codes = warnings.map((warning) => partsOfWarning(warning).code);
  return codes.some((code) => LOSSES.includes(code) && !(isWritten && code === RESULT_LEFT_OUT));
}

const RESULT_LEFT_OUT = "result_too_large";

/** The result was left out. It may still have been written to a file whole. */
export const isResultLeftOut = (warning: string) => partsOfWarning(warning).code === RESULT_LEFT_OUT;
