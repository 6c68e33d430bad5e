import { amount } from "../figures.ts";
import type { ContextStats } from "../index.ts";

const NAMED = 3;

/**
 * `skipped 12 files (7 binary, 5 over 10 MB)`, or null where nothing was left out. A few are
 * named; of many only the first 20 are known by name.
 */
export function skippedLine({ count, files }: ContextStats["skipped"]): string | null {
  if (count === 0) return null;
  if (count <= NAMED && files.length === count) {
    return `skipped ${amount(count, "file")}: ${files.map(({ path, reason }) => `${path} (${brief(reason)})`).join(", ")}`;
  }
  const counts = new Map<string, number>();
  for (const { reason } of files) counts.set(kindOf(reason), (counts.get(kindOf(reason)) ?? 0) + 1);
  const kinds = [...counts].sort(([, a], [, b]) => b - a).map(([kind, of]) => `${of} ${kind}`);
  if (count > files.length) kinds.push(`${count - files.length} more`);
  return `skipped ${amount(count, "file")}${files.length > 0 ? ` (${kinds.join(", ")})` : ""}`;
}

/** `binary` for `binary (NUL in the first 8 KB)`. */
function brief(reason: string): string {
  return reason.startsWith("binary") ? "binary" : reason;
}

/** The reason without the measure of this one file. */
function kindOf(reason: string): string {
  return / > /.test(reason) ? "over 10 MB" : brief(reason);
}
