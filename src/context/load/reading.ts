import { statSync } from "node:fs";
import { join } from "node:path";
import { RlmError } from "../../../runtime/index.ts";
import { documentError, NO_TEXT, textCure } from "../../documents/errors.ts";
import type { DocumentOptions } from "../../documents/kinds.ts";
import { amount, megabytes } from "../../platform/figures.ts";
import type { Context } from "../context.ts";
import { type Pause, pauses } from "../pauses.ts";
import type { SkippedFile } from "../skipped.ts";
import type { Text } from "../text/text.ts";
import type { KnownLoads } from "./known-loads.ts";
import { CHANGED, errnoOf, MOVED_OUT, type Refusal } from "./roots.ts";
import type { ContextSize } from "./size.ts";

/** A source of contexts that were loaded before. */
export interface Known {
  readonly loads: KnownLoads;
  /** ms since the epoch. */
  now(): number;
  /** The context with this key, or null if it is not kept. */
  open(key: string): Promise<Context | null>;
}

/** Progress of a load, reported about every megabyte or 16 files. */
export interface LoadProgress {
  /** Files and bytes that were read so far. */
  readonly files: number;
  readonly bytes: number;
  /** The place in a document that is converted. */
  readonly converting?: string;
  /** Folder of the text of a large context, reported once, before it is written. */
  readonly texts?: string;
  /** True if more files than those that were read may follow. */
  readonly isPart?: boolean;
}

export interface LoadOptions {
  /** Folders that may be read; symlinks in them are resolved at each load. */
  roots: readonly string[];
  cwd: string;
  onProgress?: (progress: LoadProgress) => void;
  /** The most that the context may hold; absent: 10,000 files and 100 MB. */
  most?: Readonly<ContextSize>;
  /**
   * Absolute folder in which texts of large contexts lie, which is asked for when one is needed.
   * Without it no context holds more than 10,000 files and 100 MB.
   */
  texts?: () => Promise<string>;
  /**
   * The text that a load should give. One that gives another large text ends with
   * `context_changed` as soon as that is known.
   */
  expected?: Text;
  /** Contexts of earlier loads: files that have not changed since are not read again. */
  known?: Known;
  documents?: DocumentOptions;
  /** Looked at between files; an abort rejects with the code `cancelled`. */
  signal?: AbortSignal;
  /**
   * When the load began, ms of `performance.now()`; absent: its time has no bound, as in a search.
   */
  begunAt?: number;
}

/** Options of a load whose context is in memory. */
export interface SmallLoadOptions extends LoadOptions {
  texts?: never;
  /** A context of an earlier load may lie in files. */
  known?: never;
}

const MINUTE_MS = 60_000;
/**
 * Documents that are reached later are left out. What was read of them is kept for the next load.
 */
const DOCUMENTS_MINUTES = 30;
/** A load that takes longer fails. */
const LOAD_MINUTES = 60;

const isLate = ({ begunAt }: LoadOptions, minutes: number) =>
  begunAt !== undefined && performance.now() - begunAt > minutes * MINUTE_MS;

/** Why a document is left out of a load that has taken long already; null: there is time for it. */
export function lateDocument(options: LoadOptions): Refusal | null {
  if (!isLate(options, DOCUMENTS_MINUTES)) return null;
  const reason = `was not read: the load had taken ${DOCUMENTS_MINUTES} min; load again to continue from here`;
  return { reason, document: "too_slow" };
}

/** Opening and checking a file takes about as long as reading this much. */
export const FILE_COST_BYTES = 64 * 1024;

/**
 * Tells progress and lets the thread do other things about every megabyte; rejects once the signal
 * is aborted.
 */
export function pauseFor(options: LoadOptions, size: ContextSize): Pause {
  const { signal, onProgress } = options;
  const pause = pauses(() => onProgress?.({ files: size.files, bytes: size.bytes }));
  return async (bytes) => {
    if (signal?.aborted) throw cancelled(signal);
    if (isLate(options, LOAD_MINUTES)) throw tooLong(size);
    await pause(bytes);
  };
}

function tooLong({ files, bytes }: ContextSize): RlmError {
  const read = `${amount(files, "file")}, ${megabytes(bytes)}`;
  return new RlmError("context_too_large", `loading took longer than ${LOAD_MINUTES} min (${read} were read)`, {
    suggestion: "Load a part of it, or copy it to a faster disk.",
  });
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

/** The fault of a file that a caller named. */
export function unreadable(given: string, refusal: Refusal): RlmError {
  if (refusal.document !== undefined) return documentError(given, refusal.reason, refusal.document, refusal.kind);
  if (refusal === MOVED_OUT) {
    return new RlmError("path_outside_sandbox", `${given} was ${refusal.reason}`, { suggestion: "Load it again." });
  }
  if (refusal === CHANGED) {
    return new RlmError("path_not_found", `${given} ${refusal.reason}`, { suggestion: "Load it again." });
  }
  if (refusal.errno !== undefined) {
    return new RlmError("path_not_found", `${given}: ${refusal.reason}`, {
      suggestion: "Check the path and its permissions.",
    });
  }
  return new RlmError("invalid_argument", `${given} cannot be loaded: ${refusal.reason}`, {
    suggestion: textCure(given, refusal.reason) ?? NO_TEXT,
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
