import { applyPatch, formatPatch, OMIT_HEADERS, structuredPatch } from "diff";

/** The changes that lead from one text to another. */
export interface Patch {
  /** Hunks of a unified diff, without the names of files. */
  readonly hunks: string;
  /** Lines added or removed, whichever are more. */
  readonly changed: number;
}

/** Edits at which the search for a diff gives up: without a bound 2,000 different lines take seconds (measured). */
const MOST_EDITS = 400;
const CONTEXT_LINES = 3;

/** Null if the texts are too different, or if the hunks do not lead from the one to the other. */
export function patchOf(before: string, after: string): Patch | null {
  const limits = { context: CONTEXT_LINES, maxEditLength: MOST_EDITS };
  const patch = structuredPatch("a", "b", before, after, undefined, undefined, limits);
  if (!patch || patch.hunks.length === 0) return null;
  const lines = patch.hunks.flatMap((hunk) => hunk.lines);
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  const hunks = formatPatch(patch, OMIT_HEADERS).replace(/\n$/, "");
  if (applyPatch(before, hunks, { autoConvertLineEndings: false }) !== after) return null;
  return { hunks, changed: Math.max(count("+"), count("-")) };
}
