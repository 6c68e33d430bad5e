import {
  CUT_OFF,
  GUESSED_ENCODING,
  isHiddenPart,
  isOfBytes,
  isUnread,
  type Loss,
  lossText,
  MAY_BE_SECRET,
  OLD_VALUE,
  type SkippedFile,
  type SkippedStats,
  shownEncoding,
  unreadSentence,
} from "../../context/index.ts";
import type { ContextStats } from "../../index.ts";
import { amount, thousands } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import type { Output } from "./terminal.ts";

type Converted = NonNullable<ContextStats["converted"]>;
type ConvertedFile = Converted["files"][number];

const NAMED = 3;

/**
 * `14 documents converted (9 pdf, 5 docx); 31 images left out`, then a line for each document with
 * parts that have no text; none if nothing was converted. A few are named; if all are wanted, each
 * document with everything that it lost.
 */
function convertedLines(converted: Converted | undefined, isVerbose = false): string[] {
  if (!converted || converted.count === 0) return [];
  const { count, files, lost } = converted;
  const kinds = [...Map.groupBy(files, shownKind)].sort(([, a], [, b]) => b.length - a.length);
  const sorted = kinds.map(([kind, of]) => `${thousands(of.length)} ${inLine(kind)}`);
  const left = Object.entries(lost).filter(([kind, of]) => of > 0 && !hasLine(kind));
  const more = count > files.length ? ", …" : "";
  const read = left.filter(([kind]) => isHiddenPart(kind));
  const changed = left.filter(([kind]) => CHANGED.has(kind));
  const out = left.filter(([kind]) => !isHiddenPart(kind) && !CHANGED.has(kind));
  const losses = `${phrase(out, "left out")}${phrase(changed, "not as printed")}${phrase(read, "read too")}`;
  const head = inLine(`${amount(count, "document")} converted (${sorted.join(", ")}${more})${losses}`);
  const lines = files.flatMap((file) => linesOf(file, isVerbose));
  const shown = isVerbose ? lines : lines.slice(0, NAMED);
  const rest = lines.length - shown.length;
  return [head, ...shown, ...(rest > 0 ? [`… ${thousands(rest)} more; --verbose lists them`] : [])];
}

/** Losses of what is in the text, but looks otherwise. */
const CHANGED = new Set(["equation", "list number", "character without a meaning", OLD_VALUE]);

/** `; 31 images left out`; empty if nothing is. */
function phrase(losses: readonly (readonly [kind: string, count: number])[], what: string): string {
  if (losses.length === 0) return "";
  return `; ${losses.map(([kind, of]) => lossText(kind, of)).join(", ")} ${what}`;
}

/** `pdf`, or of a text its encoding: `gbk text`. */
const shownKind = ({ kind, encoding }: ConvertedFile) =>
  encoding === undefined ? kind : `${shownEncoding(encoding)} ${kind}`;

/**
 * Tells on stderr what a load has converted, and which files it left out.
 *
 * @param source stands before the lines about all of it
 */
export function showLoaded({ converted, skipped }: Loaded, stderr: Output, isVerbose: boolean, source = ""): void {
  const [head, ...documents] = convertedLines(converted, isVerbose);
  if (head !== undefined) stderr.write(`${source}${head}\n`, "dim");
  for (const line of documents) stderr.write(`${line}\n`, "dim");
  for (const line of skippedLines(skipped, isVerbose)) {
    stderr.write(`${line.startsWith("  ") ? "" : source}${line}\n`, "dim");
  }
}

interface Loaded extends Pick<ContextStats, "skipped"> {
  readonly converted?: Converted | undefined;
}

/** The documents and files of an append, without those that were there before. */
export function loadedSince(before: Loaded | null, now: Loaded): Loaded {
  const skipped = skippedSince(before?.skipped, now.skipped);
  return { skipped, converted: convertedSince(before?.converted, now.converted) };
}

function convertedSince(before: Converted | undefined, now: Converted | undefined): Converted | undefined {
  if (!before || !now) return now;
  return {
    count: now.count - before.count,
    lossy: now.lossy - before.lossy,
    lost: countsSince(before.lost, now.lost),
    files: now.files.slice(before.files.length),
  };
}

/** `report.pdf: 3 of 212 pages have no text: p.4, p.9, p.17 (scans?)` */
function linesOf({ id, kind: of, places, lost }: ConvertedFile, isVerbose: boolean): string[] {
  return lost.flatMap(({ kind, count, where }) => {
    if (kind === CUT_OFF) return [inLine(`${id}: the file ends too early; what it has is loaded`)];
    if (isOfBytes(kind)) return [inLine(`${id}: ${lossText(kind, count)}, read as U+FFFD${listed(where, count, "")}`)];
    if (kind === GUESSED_ENCODING) {
      const cure = of === "html" ? "; --encoding NAME names another" : "";
      return [inLine(`${id}: its encoding is a guess${listed(where, where.length, "")}${cure}`)];
    }
    const part = partIn(kind);
    if (part === null) return isVerbose ? [inLine(`${id}: ${lossText(kind, count)}${listed(where, count, "")}`)] : [];
    const { noun, isDamaged } = part;
    const prefix = { page: "p.", slide: "slide " }[noun];
    const parts = prefix === undefined ? amount(count, noun) : `${thousands(count)} of ${amount(places, noun)}`;
    const [has, have] = isDamaged ? ["is damaged", "are damaged"] : ["has no text", "have no text"];
    const scans = noun === "page" && !isDamaged ? " (scans?)" : "";
    return [inLine(`${id}: ${parts} ${count === 1 ? has : have}${listed(where, count, prefix ?? "")}${scans}`)];
  });
}

/** True for a loss that is told in a line of its document's own. */
const hasLine = (kind: string) =>
  partIn(kind) !== null || isOfBytes(kind) || kind === CUT_OFF || kind === GUESSED_ENCODING;

function listed(where: Loss["where"], count: number, prefix: string): string {
  if (where.length === 0) return "";
  const names = where.map((one) => (typeof one === "number" ? `${prefix}${one}` : one));
  return `: ${names.join(", ")}${count > where.length ? ", …" : ""}`;
}

/**
 * The part of a document whose text is missing by a loss of this kind; null for what stands beside
 * the text.
 */
function partIn(kind: string): { readonly noun: string; readonly isDamaged: boolean } | null {
  const [, damaged, without] = /^(?:damaged (\w+)|(\w+) without text)$/.exec(kind) ?? [];
  const noun = damaged ?? without;
  return noun === undefined ? null : { noun, isDamaged: damaged !== undefined };
}

/**
 * Lines about files that a load left out: first those that should have text and could not be read,
 * as `2 files could not be read: scan.pdf (has no text), …`, then `skipped 12 files (7 binary, 5
 * may contain secrets)`. A few are named. With `isVerbose` each line is followed by all files that
 * the load lists.
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
  if (reasons[NO_ROOM] !== undefined) lines.push(MORE_ROOM);
  if (summary !== null) lines.push(summary);
  if (isVerbose) lines.push(...listLines(leftOut, count - unread));
  return lines;
}

/** Kinds of reasons for which flags are the cure. */
const OF_BYTES: ReadonlySet<string> = new Set(["not UTF-8", "not of the encoding"]);
const DECODING = "--encoding NAME reads texts that are not UTF-8, and --lossy takes their bad bytes for U+FFFD";

/** A kind of reason, and its cure. */
const NO_ROOM = "without room in the context";
const MORE_ROOM = "--max-context-mb N lets the context have N MB";

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
function countsSince(before: Counts = {}, now: Counts): Counts {
  const more = Object.entries(now).map(([kind, count]) => [kind, count - (before[kind] ?? 0)] as const);
  return Object.fromEntries(more.filter(([, count]) => count > 0));
}

/** `binary` for `binary (NUL in the first 8 KB)`. */
const brief = (reason: string) => (reason.startsWith("binary") ? "binary" : withFlag(reason));

/** A reason or kind, with the flag that lets such files in. */
export const withFlag = (reason: string) => (reason === MAY_BE_SECRET ? `${reason}: --include-secrets` : reason);
