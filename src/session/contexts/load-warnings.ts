import { lossText, UNPLACED } from "../../context/index.ts";
import { amount, thousands } from "../../platform/figures.ts";
import type { SessionState } from "../state.ts";

/** Warnings about what the newest loads left out, until an envelope has had them. */
export function loadWarnings({ account, context }: SessionState): readonly string[] {
  if (!account.untold || !context) return [];
  const { converted, skipped } = context.stats;
  const { [UNPLACED]: unplaced = 0, ...lost } = converted?.lost ?? {};
  const losses = Object.entries(lost).map(([kind, count]) => lossText(kind, count));
  const lossy = amount(converted?.lossy ?? 0, "document");
  const reasons = Object.entries(skipped.reasons ?? {}).map(([reason, count]) => `${thousands(count)} ${reason}`);
  const why = reasons.length > 0 ? ` (${reasons.join(", ")})` : "";
  return [
    ...(losses.length > 0 ? [`documents_lost: ${lossy}, ${losses.join(", ")}; stats().converted`] : []),
    ...(unplaced > 0 ? [`places_capped: ${thousands(unplaced)}`] : []),
    ...(skipped.count > 0 ? [`files_skipped: ${amount(skipped.count, "file")}${why}`] : []),
  ];
}
