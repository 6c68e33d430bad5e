import { basename, isAbsolute, resolve } from "node:path";
import { amount, thousands } from "../platform/figures.ts";
import { cutText, inLine } from "../platform/visible.ts";

/** A file of a load that is not in P, and why. `path` is relative to the loaded folder. */
export interface SkippedFile {
  path: string;
  reason: string;
}

/** The number of skipped files for each kind of reason. */
type SkipCounts = Readonly<Record<string, number>>;

/** Files that a context lacks, by their wire names. */
export interface SkippedStats {
  /** All files that were left out for another reason than an ignore rule. */
  count: number;
  /**
   * Those among them that should have text and could not be read. The others are left out by what
   * they are.
   */
  unread: number;
  /** The first 1,000, those that could not be read before the others. */
  files: SkippedFile[];
  /** All of them by kind of reason. */
  reasons: SkipCounts;
}

/**
 * Skipped files as cells and answers report them. `capped` is true if `files` does not have all of
 * them.
 */
export interface ToldSkips extends Pick<SkippedStats, "count" | "unread" | "files"> {
  capped: boolean;
}

/** The files that one source lacks. */
export interface SourceSkips {
  /** The name of the source in `stats.sources`. */
  readonly source: string;
  /** The absolute folder that paths of files are relative to. */
  readonly base: string;
  readonly stats: SkippedStats;
}

/** Stands for a source that lacks nothing. */
export const NOTHING_SKIPPED: SkippedStats = { count: 0, unread: 0, files: [], reasons: {} };

/** A kind of reason, with the word by which such files are counted. */
interface SkipKind {
  readonly pattern: RegExp;
  /** Absent if the reason itself is the word. */
  readonly word?: string;
  /** True if the file is left out by what it is: it has no text, or it is not to be read. */
  readonly isLeftOut?: true;
}

/** The reason of a file of an earlier load that is not there any more. */
export const DELETED = "deleted since it was loaded: its text stays in P";
/** The word by which such files are counted. */
export const DELETED_KIND = "deleted since they were loaded";

/** Kinds of reasons. A reason of none of them is that of a file that could not be read. */
const KINDS: readonly SkipKind[] = [
  { pattern: /^binary/, word: "binary", isLeftOut: true },
  { pattern: /^may contain secrets$/, isLeftOut: true },
  { pattern: /^(?:FIFO|socket|device|folder|symlink|not a regular file)$/, isLeftOut: true },
  { pattern: /^symlink (?!that cannot be followed)/, isLeftOut: true },
  { pattern: /^(?:leads to a folder that is already loaded|a link or a special file)$/, isLeftOut: true },
  { pattern: /^(?:outside the allowed roots|Belay keeps its own files there)$/, isLeftOut: true },
  { pattern: /^\/proc, \/sys and \/dev are always refused$/, isLeftOut: true },
  { pattern: /^deleted since it was loaded/, word: DELETED_KIND, isLeftOut: true },
  // Remarks on rule files, which are in P if they are not ignored themselves.
  { pattern: /^(?:its rules|\d+ of its rules) are not applied: /, word: "rules not applied", isLeftOut: true },
  { pattern: /^its routes beyond /, isLeftOut: true },
  { pattern: /^not UTF-8 in /, word: "not UTF-8" },
  { pattern: /^not \S+ in /, word: "not of the encoding" },
  { pattern: /^compressed by /, word: "compressed by bzip2 or xz" },
  { pattern: /^packed by a method /, word: "packed by a method that is not read" },
  { pattern: /^[\d.,]+ (?:MB|bytes) > /, word: "over 10 MB" },
  { pattern: /^has [\d.,]+ MB: the context would have more /, word: "without room in the context" },
  { pattern: /^has (?:no text|text on none)/, word: "without text" },
  { pattern: /^is (?:damaged|encrypted)/, word: "damaged or encrypted" },
  { pattern: /^(?:took|unpacks to|has|is larger than|was not read: the load) /, word: "too large or slow" },
  { pattern: /^cannot be read \((?:EACCES|EPERM)\)$/, word: "without permission" },
  { pattern: /^cannot be read(?:: | \()/, word: "unreadable" },
];

const kindOf = (reason: string) => KINDS.find(({ pattern }) => pattern.test(reason));

/**
 * True if a file with this reason should have text and could not be read: it is damaged, encrypted,
 * without text, too large or not permitted. A binary file or a possible secret is left out by what
 * it is. The word of a kind may stand for the reason.
 */
export function isUnread(reason: string): boolean {
  const kind = kindOf(reason) ?? KINDS.find(({ word }) => word === reason);
  return kind?.isLeftOut !== true;
}

/** Reasons name files and sizes: so many kinds are told apart, the rest is `other reasons`. */
const MOST_KINDS = 20;
const OTHER = "other reasons";

/** Adds files to the counts, which are changed by `by` for each file. */
function counted(counts: SkipCounts, skipped: readonly SkippedFile[], by: 1 | -1): SkipCounts {
  const sums = new Map(Object.entries(counts));
  for (const { reason } of skipped) {
    const word = kindOf(reason)?.word ?? reason;
    const kind = sums.has(word) || (by === 1 && sums.size < MOST_KINDS) ? word : OTHER;
    sums.set(kind, (sums.get(kind) ?? 0) + by);
  }
  return Object.fromEntries([...sums].filter(([, count]) => count > 0));
}

/** Files that are listed, and UTF-16 units of their paths and reasons. */
const LISTED = 1000;
const LISTED_UNITS = 200_000;

/** The first files of a list, those that could not be read before the others. */
function listed(files: readonly SkippedFile[]): SkippedFile[] {
  const unread: SkippedFile[] = [];
  const leftOut: SkippedFile[] = [];
  for (const file of files) (isUnread(file.reason) ? unread : leftOut).push(file);
  let units = 0;
  const first = [...unread, ...leftOut].slice(0, LISTED);
  const end = first.findIndex(({ path, reason }) => {
    units += path.length + reason.length;
    return units > LISTED_UNITS;
  });
  return end < 0 ? first : first.slice(0, end);
}

/** Skipped files as statistics tell them. */
export function skippedStats(skipped: readonly SkippedFile[]): SkippedStats {
  return {
    count: skipped.length,
    unread: skipped.filter(({ reason }) => isUnread(reason)).length,
    files: listed(skipped),
    reasons: counted({}, skipped, 1),
  };
}

/** The files that the sources of a context lack, together. */
export function allSkipped(skips: readonly SourceSkips[]): SkippedStats {
  const [only = { stats: NOTHING_SKIPPED }, ...others] = skips;
  if (others.length === 0) return only.stats;
  const sums = new Map<string, number>();
  for (const { stats } of skips) {
    for (const [kind, count] of Object.entries(stats.reasons)) {
      const sum = sums.has(kind) || sums.size < MOST_KINDS ? kind : OTHER;
      sums.set(sum, (sums.get(sum) ?? 0) + count);
    }
  }
  return {
    count: skips.reduce((sum, { stats }) => sum + stats.count, 0),
    unread: skips.reduce((sum, { stats }) => sum + stats.unread, 0),
    files: listed(withOwnNames(skips)),
    reasons: Object.fromEntries(sums),
  };
}

/**
 * Skipped files of several sources. A name that another source has too stands behind that of its
 * folder, as documents' ids do.
 */
function withOwnNames(skips: readonly SourceSkips[]): readonly SkippedFile[] {
  const taken = new Set<string>();
  return skips.flatMap(({ base, stats }) => {
    const files = stats.files.map(({ path, reason }) => {
      const names = [path, `${basename(base)}/${path}`];
      return { path: names.find((name) => !taken.has(name)) ?? resolve(base, path), reason };
    });
    for (const { path } of files) taken.add(path);
    return files;
  });
}

/**
 * The files that a context lacks after one more source was read. A source that is read again tells
 * anew what it lacks, and a file that is skipped or loaded now is not counted twice.
 * @param hasLoaded tells whether the file with an absolute path was read
 */
export function withSkipsOf(
  before: readonly SourceSkips[],
  source: SourceSkips,
  hasLoaded: (path: string) => boolean,
): readonly SourceSkips[] {
  const now = new Set(source.stats.files.map(({ path }) => resolve(source.base, path)));
  const others = before
    .filter((one) => one.source !== source.source || !isAbsolute(one.base))
    .map((one) => without(one, (path) => now.has(path) || hasLoaded(path)));
  return [...others, source].filter(({ stats }) => stats.count > 0);
}

function without(skips: SourceSkips, isGone: (path: string) => boolean): SourceSkips {
  const { base, stats } = skips;
  const gone = stats.files.filter(({ path }) => isGone(resolve(base, path)));
  if (gone.length === 0) return skips;
  return {
    ...skips,
    stats: {
      count: stats.count - gone.length,
      unread: stats.unread - gone.filter(({ reason }) => isUnread(reason)).length,
      files: stats.files.filter((file) => !gone.includes(file)),
      reasons: counted(stats.reasons, gone, -1),
    },
  };
}

/** Skipped files with at most so many of them listed. */
export function toldSkips({ count, unread, files }: SkippedStats, most: number): ToldSkips {
  return { count, unread, files: files.slice(0, most), capped: count > Math.min(files.length, most) };
}

/** Files that a sentence names, and characters of their names and reasons. */
const NAMED = 5;
const NAME_UNITS = 100;

/**
 * `2 files could not be read: scan.pdf (has no text), lease.pdf (is encrypted: it needs a password).`,
 * or null if all could be. The sentence is one bounded line, whatever names the files have. @param
 * how the command that lists all of them
 */
export function unreadSentence({ unread, files }: Pick<SkippedStats, "unread" | "files">, how = ""): string | null {
  if (unread === 0) return null;
  const named = files.filter(({ reason }) => isUnread(reason)).slice(0, NAMED);
  const more = unread - named.length;
  const command = how === "" ? "" : ` (${how})`;
  // Behind a source with a list that is full, those of a later one are counted alone.
  if (named.length === 0) return `${amount(unread, "file")} could not be read${command}.`;
  const names = named.map(({ path, reason }) => `${shortened(path)} (${shortened(reason)})`);
  const rest = more > 0 ? [`… ${thousands(more)} more${command}`] : [];
  return `${amount(unread, "file")} could not be read: ${[...names, ...rest].join(", ")}.`;
}

function shortened(words: string): string {
  return cutText(inLine(words.slice(0, 2 * NAME_UNITS)), NAME_UNITS);
}
