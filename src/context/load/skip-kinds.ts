import type { SkippedFile } from "../context.ts";

/** The number of skipped files for each kind of reason. */
export type SkipCounts = Readonly<Record<string, number>>;

/** Reasons name files and sizes: so many kinds are told apart, the rest is `other reasons`. */
const MOST_KINDS = 20;
const OTHER = "other reasons";

export function addSkips(counts: SkipCounts, skipped: readonly SkippedFile[]): SkipCounts {
  const sums = new Map(Object.entries(counts));
  for (const { reason } of skipped) {
    const found = kindOf(reason);
    const kind = sums.has(found) || sums.size < MOST_KINDS ? found : OTHER;
    sums.set(kind, (sums.get(kind) ?? 0) + 1);
  }
  return Object.fromEntries(sums);
}

/** Reasons that tell more of one document. */
const DOCUMENTS: readonly (readonly [RegExp, string])[] = [
  [/^binary/, "binary"],
  [/^has (?:no text|text on none)/, "without text"],
  [/^is (damaged|encrypted)/, "damaged or encrypted"],
  [/^(?:took|unpacks to|has|is larger than) /, "too large or slow"],
  [/^cannot be read: /, "unreadable"],
];

/** A reason without what it says of this one file: `binary` of `binary (NUL in the first 8 KB)`. */
function kindOf(reason: string): string {
  if (/ > /.test(reason)) return "over 10 MB";
  return DOCUMENTS.find(([pattern]) => pattern.test(reason))?.[1] ?? reason;
}
