import { amount, compact, thousands } from "../../platform/figures.ts";
import type { CoverageTotals } from "./coverage-sums.ts";

/** `shown at least 38 % of 12.4M characters · found 4 % · ranked 1 % · touched 12 % · never opened 214 of 412 documents` */
export function coverageLine(totals: CoverageTotals): string {
  const { shown, never, missing } = inWords(totals);
  const shares = (["found", "ranked", "touched"] as const).map(
    (grade) => `${grade} ${percent(totals[grade], totals.chars)}`,
  );
  const opened = never === null ? openedAll(totals.documents.total) : `never opened ${never}`;
  return [`shown ${shown}`, ...shares, opened, ...missing].join(" · ");
}

/** A sentence about what models read of P and what was never opened. @param how the command that lists the latter */
export function coverageSentence(totals: CoverageTotals, how = ""): string {
  const { shown, never, missing } = inWords(totals);
  const command = how === "" || totals.documents.never === 0 ? "" : ` (${how})`;
  const opened = never === null ? openedAll(totals.documents.total) : `never opened: ${never}${command}`;
  return `${[`A model read ${shown}`, opened, ...missing].join("; ")}.`;
}

const openedAll = (documents: number) =>
  documents === 1 ? "its document was opened" : `all ${thousands(documents)} documents were opened`;

/** `never` is null if it is certain that no document was left out. */
function inWords({ shown, chars, joined, not_recorded, documents: { never, total } }: CoverageTotals) {
  const isAll = shown === chars && chars > 0;
  return {
    shown: isAll
      ? `all ${compact(chars)} characters`
      : `at least ${percent(shown, chars)} of ${compact(chars)} characters`,
    // Documents between joined places may be more.
    never:
      never === 0 && joined === 0 ? null : `${joined > 0 ? "at least " : ""}${never} of ${amount(total, "document")}`,
    missing: not_recorded > 0 ? [`not recorded for ${amount(not_recorded, "exec")}`] : [],
  };
}

/** `38 %`, `0.4 %`: rounded down. */
function percent(part: number, whole: number): string {
  const share = whole === 0 ? 0 : (100 * part) / whole;
  return `${share < 10 ? Math.floor(share * 10) / 10 : Math.floor(share)} %`;
}
