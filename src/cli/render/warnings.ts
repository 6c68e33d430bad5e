import { remedy } from "../../../runtime/index.ts";
import { addSkips, MAY_BE_SECRET } from "../../context/index.ts";
import type { ContextStats, ExecLimits } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import { partsOfWarning, type WarningCures, warningSentence } from "../../warnings.ts";
import { inFlags } from "./wording.ts";

const CURES: WarningCures = {
  moreMatches: "--max-find-results N",
  moreOutput: "--max-output-bytes N",
  largeResult: "--output FILE writes it, --max-result-bytes N shows it",
  moreSubCalls: "--max-sub-calls N",
  removeHelper: "removed in a cell with helpers.remove(NAME)",
  beginAnew: inFlags(remedy("beginAnew")),
  otherModel: "--model names another one",
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
  "sub_calls_failed",
];

/** A warning as a sentence, with the flag that changes it; one that is not known here as it is. */
export function warningText(warning: string, limits: Partial<ExecLimits> = {}, cures = CURES): string {
  return warningSentence(warning, limits, cures) ?? warning;
}

/** The warnings among the fields that a job told, which may be anything. */
export const jobWarnings = ({ warnings }: { readonly warnings?: unknown }) => [warnings ?? []].flat().map(String);

/** As `warningText`, of a job: its result is a part of the results. */
export const jobWarningText = (warning: string) =>
  warningText(warning, {}, { ...CURES, largeResult: "--max-result-bytes N lets it in" });

/** @param isWritten the result is whole in a file */
export function hasLoss(warnings: readonly string[], isWritten: boolean): boolean {
  const codes = warnings.map((warning) => partsOfWarning(warning).code);
  return codes.some((code) => LOSSES.includes(code) && !(isWritten && code === RESULT_LEFT_OUT));
}

const RESULT_LEFT_OUT = "result_too_large";

/** True if the load itself has said it on stderr. */
export const isToldByLoad = (warning: string) => TOLD_BY_LOAD.includes(partsOfWarning(warning).code);

const TOLD_BY_LOAD = ["documents_lost", "places_capped", "files_skipped"];

/** The result was left out. It may still have been written to a file whole. */
export const isResultLeftOut = (warning: string) => partsOfWarning(warning).code === RESULT_LEFT_OUT;

type Skipped = ContextStats["skipped"];

const NAMED = 3;

/**
 * `skipped 12 files (7 binary, 5 over 10 MB); --verbose lists them`, or null if nothing was left out. A few are named,
 * and all of them in lines of their own if that is wanted.
 */
export function skippedLine({ count, files, reasons }: Skipped, isVerbose = false): string | null {
  if (count === 0) return null;
  const head = `skipped ${amount(count, "file")}`;
  if (!isVerbose && count <= NAMED && files.length === count) {
    return `${head}: ${files.map(({ path, reason }) => `${inLine(path)} (${brief(reason)})`).join(", ")}`;
  }
  const counts = Object.entries(reasons ?? addSkips({}, files)).sort(([, a], [, b]) => b - a);
  const kinds = counts.map(([kind, of]) => `${of.toLocaleString("en-US")} ${withFlag(kind)}`);
  const summary = kinds.length > 0 ? `${head} (${kinds.join(", ")})` : head;
  if (!isVerbose) return `${summary}; --verbose lists them`;
  const lines = files.map(({ path, reason }) => `  ${inLine(path)}: ${reason}`);
  if (count > files.length) lines.push(`  … ${(count - files.length).toLocaleString("en-US")} more`);
  return [summary, ...lines].join("\n");
}

/** Files that an append has left out, beside those that were left out before. */
export function skippedSince(before: Skipped | undefined, now: Skipped): Skipped {
  if (!before) return now;
  return {
    count: now.count - before.count,
    files: now.files.slice(before.files.length),
    ...(now.reasons ? { reasons: countsSince(before.reasons, now.reasons) } : {}),
  };
}

type Counts = Readonly<Record<string, number>>;

/** The growth of each kind, of those that have grown. */
export function countsSince(before: Counts = {}, now: Counts): Counts {
  const more = Object.entries(now).map(([kind, count]) => [kind, count - (before[kind] ?? 0)] as const);
  return Object.fromEntries(more.filter(([, count]) => count > 0));
}

/** `binary` for `binary (NUL in the first 8 KB)`. */
const brief = (reason: string) => (reason.startsWith("binary") ? "binary" : withFlag(reason));

/** A reason or kind, with the flag that lets such files in. */
export const withFlag = (reason: string) => (reason === MAY_BE_SECRET ? `${reason}: --include-secrets` : reason);
