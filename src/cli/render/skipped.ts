import { isUnread, MAY_BE_SECRET, type SkippedFile, type SkippedStats, unreadSentence } from "../../context/index.ts";
import { amount, thousands } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";

const NAMED = 3;

/**
 * Lines about files that a load left out: first those that should have text and could not be read, as
 * `2 files could not be read: scan.pdf (has no text), …`, then `skipped 12 files (7 binary, 5 may contain secrets)`. A few are
 * named. With `isVerbose` each line is followed by all files that the load lists.
 */
export function skippedLines(skipped: SkippedStats, isVerbose = false): string[] {
  const { count, unread, files, reasons } = skipped;
  const failed = files.filter(({ reason }) => isUnread(reason));
  const leftOut = files.filter(({ reason }) => !isUnread(reason));
  const sentence = unreadSentence(skipped, "--verbose lists them");
  const summary = leftOutLine(skipped, leftOut, isVerbose);
  const lines: string[] = [];
  if (sentence !== null) lines.push(isVerbose ? `${amount(unread, "file")} could not be read` : sentence);
  if (isVerbose) lines.push(...listLines(failed, unread));
  if (Object.keys(reasons).some((kind) => OF_BYTES.has(kind))) lines.push(DECODING);
  if (summary !== null) lines.push(summary);
  if (isVerbose) lines.push(...listLines(leftOut, count - unread));
  return lines;
}

/** Kinds of reasons for which flags are the cure. */
const OF_BYTES: ReadonlySet<string> = new Set(["not UTF-8", "not of the encoding"]);
const DECODING = "--encoding NAME reads texts that are not UTF-8, and --lossy takes their bad bytes for U+FFFD";

function leftOutLine({ count, unread, reasons }: SkippedStats, files: readonly SkippedFile[], isVerbose: boolean) {
  const number = count - unread;
  if (number === 0) return null;
  const head = `skipped ${amount(number, "file")}`;
  if (!isVerbose && number <= NAMED && files.length === number) {
    return `${head}: ${files.map(({ path, reason }) => `${inLine(path)} (${brief(reason)})`).join(", ")}`;
  }
  const counts = Object.entries(reasons).filter(([kind]) => !isUnread(kind));
  const kinds = counts.sort(([, a], [, b]) => b - a).map(([kind, of]) => `${thousands(of)} ${withFlag(kind)}`);
  const summary = kinds.length > 0 ? `${head} (${kinds.join(", ")})` : head;
  return isVerbose ? summary : `${summary}; --verbose lists them`;
}

function listLines(files: readonly SkippedFile[], count: number): string[] {
  const lines = files.map(({ path, reason }) => `  ${inLine(path)}: ${inLine(reason)}`);
  return count > files.length ? [...lines, `  … ${thousands(count - files.length)} more`] : lines;
}

/** The skipped files that an append has told of, beside those that were there before. */
export function skippedSince(before: SkippedStats | undefined, now: SkippedStats): SkippedStats {
  if (!before) return now;
  const known = new Set(before.files.map(named));
  const files = now.files.filter((file) => !known.has(named(file)));
  const more = (count: number, earlier: number, listed: number) => Math.max(listed, count - earlier);
  return {
    count: more(now.count, before.count, files.length),
    unread: more(now.unread, before.unread, files.filter(({ reason }) => isUnread(reason)).length),
    files,
    reasons: countsSince(before.reasons, now.reasons),
  };
}

const named = ({ path, reason }: SkippedFile) => JSON.stringify([path, reason]);

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
