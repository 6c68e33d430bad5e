import { LIMITS, RlmError, remedy } from "../../../runtime/index.ts";
import { thousands } from "../../platform/figures.ts";

/** The size of a context: documents, and bytes of UTF-8 with separators. */
export interface ContextSize {
  files: number;
  bytes: number;
}

const MB = 1024 * 1024;
const LISTED_SHARES = 3;

/** The most that a context may have, and whether a larger one could be kept. */
export interface MostSize extends Readonly<ContextSize> {
  /** False: no setting allows more than 100 MB or 10,000 files. */
  readonly keepsLarge: boolean;
}

/** The most that a context in memory has. */
export const SMALL: Readonly<ContextSize> = { files: LIMITS.files, bytes: LIMITS.contextBytes };

/**
 * True for a size with which a context is large. It follows from the context alone and never from
 * limits, so that the same parts have the same hash everywhere.
 */
export const isLargeSize = (size: Readonly<ContextSize>) => isOver(size, SMALL);

/** The options of a load that limit it. */
interface SizeOptions {
  readonly most?: Readonly<ContextSize>;
  /** Present if texts of large contexts have a place. */
  readonly texts?: unknown;
}

/** The most that a context of these options may have. */
export function mostOf({ most = SMALL, texts }: SizeOptions): MostSize {
  if (texts) return { ...most, keepsLarge: true };
  return {
    files: Math.min(most.files, SMALL.files),
    bytes: Math.min(most.bytes, SMALL.bytes),
    keepsLarge: false,
  };
}

/** True if a context of this size breaks a limit. */
export function isOver({ files, bytes }: Readonly<ContextSize>, most: Readonly<ContextSize>): boolean {
  return files > most.files || bytes > most.bytes;
}

/**
 * The error for `given`, with the measured size; `shares` has the size of each entry of a folder,
 * by its name.
 */
export function tooLarge(
  given: string,
  size: Readonly<ContextSize>,
  most: MostSize = mostOf({}),
  shares?: ReadonlyMap<string, ContextSize>,
): RlmError {
  const excess: string[] = [];
  if (size.files > most.files) excess.push(`${thousands(size.files)} files (limit ${thousands(most.files)})`);
  if (size.bytes > most.bytes) excess.push(exceeds(size.bytes, most.bytes));
  return new RlmError("context_too_large", `${given} makes the context too large: ${excess.join(", ")}`, {
    suggestion: `${raising(size, most)}${cureOf(size, most, shares)}`,
  });
}

/** The limits that would do, as a sentence that another follows. */
function raising(size: Readonly<ContextSize>, most: MostSize): string {
  if (size.files > LIMITS.mostFiles) return `A context has at most ${thousands(LIMITS.mostFiles)} files. `;
  if (size.bytes > LIMITS.mostContextMb * MB) {
    const limit = `A context has at most ${thousands(LIMITS.mostContextMb)} MB`;
    return `${limit}; \`belay find\` searches files of any size. `;
  }
  const mb = roundedUp((size.bytes * SPARE) / MB, 100);
  const files = roundedUp(size.files * SPARE, 1000);
  const wanted = [
    ...(size.bytes > most.bytes ? [remedy("raiseContext", String(Math.min(mb, LIMITS.mostContextMb)))] : []),
    ...(size.files > most.files ? [remedy("raiseFiles", String(Math.min(files, LIMITS.mostFiles)))] : []),
  ];
  const [first = "", ...others] = wanted;
  const sentence = [`${first.charAt(0).toUpperCase()}${first.slice(1)}`, ...others].join(" and ");
  if (isLargeSize(size) && !most.keepsLarge) {
    return `Only a store in a folder keeps larger ones: ${remedy("folderStore")}, and ${wanted.join(" and ")}. Or: `;
  }
  return `${sentence}: its text then takes ${groupedMegabytes(size.bytes)} of disk. Or: `;
}

/** A limit that would do is larger by this factor, so that the source may grow. */
const SPARE = 1.1;
const roundedUp = (value: number, step: number) => Math.ceil(value / step) * step;

/**
 * Smaller things to load instead: of a folder without folders nothing smaller has a name but its
 * files.
 */
function cureOf(
  size: Readonly<ContextSize>,
  most: Readonly<ContextSize>,
  shares: ReadonlyMap<string, ContextSize> = new Map(),
): string {
  if (size.files === 1) return "Load a smaller file, or a part of this one.";
  const measure = size.bytes > most.bytes ? "bytes" : "files";
  const entries = [...shares].sort(([, a], [, b]) => b[measure] - a[measure]);
  const isFlat = entries.length > 0 && !entries.some(([name]) => name.endsWith("/"));
  const figure = (of: ContextSize) => (measure === "bytes" ? groupedMegabytes(of.bytes) : thousands(of.files));
  const listed = entries.slice(0, LISTED_SHARES).map(([name, share]) => `${name} ${figure(share)}`);
  const largest = listed.length > 0 ? ` Most ${measure}: ${listed.join(", ")}.` : "";
  if (measure === "files" && (isFlat || size.files > LIMITS.mostFiles)) {
    return "Join its files into fewer ones (`cat FOLDER/* > all.txt`) and load those, or list some in .gitignore.";
  }
  if (isFlat) return `Load some of its files one by one, or list the others in .gitignore.${largest}`;
  return `Load a smaller folder or file, or list what is generated in .gitignore.${largest}`;
}

/** `14.2 MB > 10 MB`, or in bytes if rounding would hide the difference. */
export function exceeds(bytes: number, limit: number): string {
  if (bytes - limit < MB / 10) return `${thousands(bytes)} bytes > ${thousands(limit)} bytes`;
  return `${groupedMegabytes(bytes)} > ${thousands(limit / MB)} MB`;
}

function groupedMegabytes(bytes: number): string {
  return `${(bytes / MB).toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} MB`;
}
