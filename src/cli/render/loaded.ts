import { CUT_OFF, GUESSED_ENCODING, isOfBytes, type Loss, lossText, shownEncoding } from "../../context/index.ts";
import type { ContextStats } from "../../index.ts";
import { amount, thousands } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import { countsSince, skippedLines, skippedSince } from "./skipped.ts";
import type { Output } from "./terminal.ts";

type Converted = NonNullable<ContextStats["converted"]>;
type ConvertedFile = Converted["files"][number];

const NAMED = 3;

/**
 * `14 documents converted (9 pdf, 5 docx); 31 images left out`, then a line for each document with parts that have no text; none if
 * nothing was converted. A few are named; if all are wanted, each document with everything that it lost.
 */
function convertedLines(converted: Converted | undefined, isVerbose = false): string[] {
  if (!converted || converted.count === 0) return [];
  const { count, files, lost } = converted;
  const kinds = [...Map.groupBy(files, shownKind)].sort(([, a], [, b]) => b.length - a.length);
  const sorted = kinds.map(([kind, of]) => `${thousands(of.length)} ${inLine(kind)}`);
  const left = Object.entries(lost).filter(([kind, of]) => of > 0 && !hasLine(kind));
  const more = count > files.length ? ", …" : "";
  const out = left.filter(([kind]) => !CHANGED.has(kind));
  const changed = left.filter(([kind]) => CHANGED.has(kind));
  const losses = `${phrase(out, "left out")}${phrase(changed, "not as printed")}`;
  const head = inLine(`${amount(count, "document")} converted (${sorted.join(", ")}${more})${losses}`);
  const told = files.flatMap((file) => linesOf(file, isVerbose));
  const shown = isVerbose ? told : told.slice(0, NAMED);
  const rest = told.length - shown.length;
  return [head, ...shown, ...(rest > 0 ? [`… ${thousands(rest)} more; --verbose lists them`] : [])];
}

/** Losses of what is in the text, but looks otherwise. */
const CHANGED = new Set(["equation", "list number", "character without a meaning"]);

/** `; 31 images left out`; empty if nothing is. */
function phrase(losses: readonly (readonly [kind: string, count: number])[], what: string): string {
  if (losses.length === 0) return "";
  return `; ${losses.map(([kind, of]) => lossText(kind, of)).join(", ")} ${what}`;
}

/** `pdf`, or of a text its encoding: `gbk text`. */
const shownKind = ({ kind, encoding }: ConvertedFile) =>
  encoding === undefined ? kind : `${shownEncoding(encoding)} ${kind}`;

/** Tells on stderr what a load has converted, and which files it left out. @param source stands before the lines about all of it */
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

/** The part of a document whose text is missing by a loss of this kind; null for what stands beside the text. */
function partIn(kind: string): { readonly noun: string; readonly isDamaged: boolean } | null {
  const [, damaged, without] = /^(?:damaged (\w+)|(\w+) without text)$/.exec(kind) ?? [];
  const noun = damaged ?? without;
  return noun === undefined ? null : { noun, isDamaged: damaged !== undefined };
}
