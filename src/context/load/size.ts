import { LIMITS, RlmError } from "../../../runtime/index.ts";
import { thousands } from "../../platform/figures.ts";

/** The size of a context: documents, and bytes of UTF-8 with separators. */
export interface ContextSize {
  files: number;
  bytes: number;
}

const MB = 1024 * 1024;
const LISTED_SHARES = 3;

/** True if a context of this size breaks a limit. */
export function isOver({ files, bytes }: ContextSize): boolean {
  return files > LIMITS.files || bytes > LIMITS.contextBytes;
}

/** The error for `given`, with the measured size; `shares` has the size of each entry of a folder, by its name. */
export function tooLarge(given: string, size: ContextSize, shares?: ReadonlyMap<string, ContextSize>): RlmError {
  const excess: string[] = [];
  if (size.files > LIMITS.files) excess.push(`${thousands(size.files)} files (limit ${thousands(LIMITS.files)})`);
  if (size.bytes > LIMITS.contextBytes) excess.push(exceeds(size.bytes, LIMITS.contextBytes));
  return new RlmError("context_too_large", `${given} makes the context too large: ${excess.join(", ")}`, {
    suggestion: cureOf(size.bytes > LIMITS.contextBytes ? "bytes" : "files", shares),
  });
}

/** Smaller things to load instead: of a folder without folders nothing smaller has a name but its files. */
function cureOf(measure: keyof ContextSize, shares: ReadonlyMap<string, ContextSize> = new Map()): string {
  const entries = [...shares].sort(([, a], [, b]) => b[measure] - a[measure]);
  const isFlat = entries.length > 0 && !entries.some(([name]) => name.endsWith("/"));
  const figure = (of: ContextSize) => (measure === "bytes" ? megabytes(of.bytes) : thousands(of.files));
  const listed = entries.slice(0, LISTED_SHARES).map(([name, share]) => `${name} ${figure(share)}`);
  const most = listed.length > 0 ? ` Most ${measure}: ${listed.join(", ")}.` : "";
  if (!isFlat) return `Load a smaller folder or file, or list what is generated in .gitignore.${most}`;
  if (measure === "bytes") return `Load some of its files one by one, or list the others in .gitignore.${most}`;
  return "Join its files into fewer ones (`cat FOLDER/* > all.txt`) and load those, or list some in .gitignore.";
}

/** `14.2 MB > 10 MB`, or in bytes if rounding would hide the difference. */
export function exceeds(bytes: number, limit: number): string {
  if (bytes - limit < MB / 10) return `${thousands(bytes)} bytes > ${thousands(limit)} bytes`;
  return `${megabytes(bytes)} > ${thousands(limit / MB)} MB`;
}

function megabytes(bytes: number): string {
  return `${(bytes / MB).toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} MB`;
}
