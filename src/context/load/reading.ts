import { statSync } from "node:fs";
import { join } from "node:path";
import { RlmError } from "../../../runtime/index.ts";
import type { Context, Pause } from "../context.ts";
import { documentError, textCure } from "../documents/errors.ts";
import type { DocumentOptions } from "../documents/kinds.ts";
import { pauses } from "../pauses.ts";
import type { SkippedFile } from "../skipped.ts";
import type { KnownLoads } from "./known-loads.ts";
import { errnoOf, MOVED_OUT, type Refusal } from "./roots.ts";
import type { ContextSize } from "./size.ts";

/** A source of contexts that were loaded before. */
export interface Known {
  readonly loads: KnownLoads;
  /** ms since the epoch. */
  now(): number;
  /** The context with this key, or null if it is not kept. */
  open(key: string): Promise<Context | null>;
}

export interface LoadOptions {
  /** Folders that may be read; symlinks in them are resolved at each load. */
  roots: readonly string[];
  cwd: string;
  /** Called about every megabyte or 16 files with what was read so far, and while a document is converted with its place. */
  onProgress?: (progress: { files: number; bytes: number; converting?: string }) => void;
  /** Contexts of earlier loads: files that have not changed since are not read again. */
  known?: Known;
  documents?: DocumentOptions;
  /** Looked at between files; an abort rejects with the code `cancelled`. */
  signal?: AbortSignal;
}

/** Opening and checking a file takes about as long as reading this much. */
export const FILE_COST_BYTES = 64 * 1024;

/** Tells progress and lets the thread do other things about every megabyte; rejects once the signal is aborted. */
export function pauseFor({ signal, onProgress }: LoadOptions, size: ContextSize): Pause {
  const pause = pauses(() => onProgress?.({ files: size.files, bytes: size.bytes }));
  return async (bytes) => {
    if (signal?.aborted) throw cancelled(signal);
    await pause(bytes);
  };
}

/** The fault of a load whose signal is aborted. */
export function cancelled(signal: AbortSignal | undefined): RlmError {
  return new RlmError("cancelled", "loading was cancelled", { suggestion: "Load again.", cause: signal?.reason });
}

/** @throws RlmError `path_not_found` */
export function isFolder(given: string, path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (cause) {
    const errno = errnoOf(cause);
    if (errno === undefined) throw cause;
    const problem = errno === "ENOENT" || errno === "ENOTDIR" ? "does not exist" : `cannot be read (${errno})`;
    throw new RlmError("path_not_found", `${given} ${problem}`, {
      suggestion: "Check the spelling of the path.",
      cause,
    });
  }
}

/** True for a refusal that another load may not meet: the system, the time or the memory refused. */
export function isFleeting({ errno, document }: Refusal): boolean {
  return errno !== undefined || document === "too_slow" || document === "too_big" || document === "own_converter";
}

/** The fault of a file that a caller named. */
export function unreadable(given: string, refusal: Refusal): RlmError {
  if (refusal.document !== undefined) return documentError(given, refusal.reason, refusal.document, refusal.kind);
  if (refusal === MOVED_OUT) {
    return new RlmError("path_outside_sandbox", `${given} was ${refusal.reason}`, { suggestion: "Load it again." });
  }
  if (refusal.errno !== undefined) {
    return new RlmError("path_not_found", `${given}: ${refusal.reason}`, {
      suggestion: "Check the path and its permissions.",
    });
  }
  return new RlmError("invalid_argument", `${given} cannot be loaded: ${refusal.reason}`, {
    suggestion:
      textCure(given, refusal.reason) ?? "Pass UTF-8 text in a regular file, or a document of a kind that Belay reads.",
  });
}

export function nothingToLoad(given: string, skipped: readonly SkippedFile[], ignored: number): RlmError {
  const listed = skipped.slice(0, 5).map(({ path, reason }) => `${path}: ${reason}`);
  const reasons = skipped.length > listed.length ? [...listed, "…"] : listed;
  const details = [
    ...(skipped.length > 0 ? [`${skipped.length} skipped (${reasons.join("; ")})`] : []),
    ...(ignored > 0 ? [`${ignored} ignored by .gitignore`] : []),
  ];
  const cure = skipped.map(({ path, reason }) => textCure(join(given, path), reason)).find((found) => found !== null);
  return new RlmError("path_not_found", `${given} has no text file to load: ${details.join(", ") || "it is empty"}`, {
    suggestion: cure ?? "Load a folder with UTF-8 text files, or name one file.",
  });
}
