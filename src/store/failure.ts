import { statfsSync } from "node:fs";
import { RlmError } from "../../runtime/errors.ts";
import { firstly, remedy } from "../../runtime/remedies.ts";
import { megabytes } from "../platform/figures.ts";
import { cutText } from "../platform/visible.ts";
import type { SpaceLeft } from "./port.ts";

/** A statement of a plan that failed. Its cause is what the database threw. */
export class FailedStatement extends Error {
  constructor(text: string, cause: unknown) {
    super(`a statement failed: ${text}`, { cause });
  }
}

/** The error that a database threw, in a plan or outside of one. */
export function thrownBy(error: unknown): unknown {
  return error instanceof FailedStatement ? error.cause : error;
}

/** True if SQLite refused because another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === SQLITE.busy;
}

/** True if a row has an integer that no writer wrote: SQLite reads it, node:sqlite does not. */
export const isOutOfRange = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "ERR_OUT_OF_RANGE";

/** @param what may have names of the row, which may be of any length */
export function corrupt(what: string, cause?: unknown, cure?: string): RlmError {
  const suggestion = cure ?? `To see all that is damaged ${remedy("verify")}; ${remedy("removeSession")} that is.`;
  return new RlmError("store_corrupt", cutText(what, 2000), { suggestion, cause });
}

export function checkpointLost(id: string, why: string, cause?: unknown): RlmError {
  const suggestion = `Go on from an earlier checkpoint: ${remedy("listCheckpoints")}, and ${remedy("fork")}.`;
  return new RlmError("checkpoint_lost", `checkpoint ${id}: ${why}`, { suggestion, cause });
}

export function checkpointNotFound(why: string): RlmError {
  return new RlmError("checkpoint_not_found", why, { suggestion: `${firstly("listCheckpoints")}.` });
}

/** The refusal of what takes so many bytes more. */
export function storeFull({ label, taken, most }: SpaceLeft, more: number): RlmError {
  const problem = `session ${label} would take ${megabytes(taken + more)} of the store, and may take ${megabytes(most)}`;
  const suggestion = `Drop variables that are not needed, ${remedy("raiseSpace")}, or begin another session; ${remedy("removeSession")} that is not needed.`;
  return new RlmError("store_full", problem, { suggestion });
}

export function contextLost(key: string, why: string): RlmError {
  const suggestion = "Load its sources again; if they have not changed, the same context comes out.";
  return new RlmError("context_lost", `context ${key}: ${why}`, { suggestion });
}

/** True if SQLite cannot open a database, or make what it needs beside it. */
export function isOfFolder(error: unknown): boolean {
  const code = primaryCode(error);
  return code === SQLITE.cantopen || code === SQLITE.readonly;
}

/** The refusal of a store of a build that was never released. @param store as messages name it */
export function madeTooEarly(store: string, suggestion: string): RlmError {
  return new RlmError("store_failed", `${store} was made by a build before 0.1.0, which this build does not read`, {
    suggestion,
  });
}

/** The error for a caller that broke the contract of the port. */
export function misuse(what: string): RlmError {
  return new RlmError("store_failed", what, { suggestion: "This is a mistake in the program that uses the store." });
}

const SQLITE = { perm: 3, busy: 5, readonly: 8, ioerr: 10, corrupt: 11, full: 13, cantopen: 14, notadb: 26 } as const;

/**
 * The error of SQLite or the file system as an `RlmError` that names the folder. Other errors stay
 * as they are.
 */
export function storeError(found: unknown, folder: string | null): unknown {
  const error = thrownBy(found);
  if (error instanceof RlmError || !(error instanceof Error)) return error;
  const store = folder === null ? "the store in memory" : `the store in ${folder}`;
  const sqlite = primaryCode(error);
  const errno = errnoOf(error);
  if (isOutOfRange(error) || sqlite === SQLITE.corrupt || sqlite === SQLITE.notadb) {
    return corrupt(`${store} is damaged: ${error.message}`, found, sqlite === SQLITE.notadb ? NO_DATABASE : undefined);
  }
  if (sqlite === undefined && errno === undefined) return found;
  // Without room for a file that SQLite maps into memory it does not call the disk full.
  const isFull = sqlite === SQLITE.full || (sqlite === SQLITE.ioerr && folder !== null && hasNoSpace(folder));
  const problem = isFull ? "database or disk is full" : error.message;
  const suggestion = cure(isFull ? SQLITE.full : sqlite, errno);
  return new RlmError("store_failed", `${store}: ${problem}`, { suggestion, cause: found });
}

const NO_DATABASE = "Put a whole copy of belay.db there, or move it away: then a new one is begun.";

/**
 * True if SQLite cannot open a database there: its index of the log, and the first pages of that,
 * need more.
 */
function hasNoSpace(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < 128 * 1024;
}

function cure(sqlite: number | undefined, errno: string | undefined): string {
  if (sqlite === SQLITE.full || errno === "ENOSPC" || errno === "EDQUOT")
    return "Free space on its disk and try again; to remove sessions takes some too.";
  if (sqlite === SQLITE.busy) return "Another process has been writing to it for long: try again.";
  const closed = sqlite === SQLITE.perm || sqlite === SQLITE.readonly || sqlite === SQLITE.cantopen;
  if (closed || errno === "EACCES" || errno === "EPERM" || errno === "EROFS") {
    return "Make the folder and its files writable for you, or choose another folder.";
  }
  if (errno === "ENOENT" || errno === "ENOTDIR" || errno === "EEXIST") {
    return "No folder can be made there: choose another folder.";
  }
  return `Check the disk; to look through the store ${remedy("verify")}.`;
}

/** SQLite's result code without what extends it; undefined for other errors. */
function primaryCode(error: unknown): number | undefined {
  const PRIMARY = 0xff;
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return undefined;
  return error.errcode & PRIMARY;
}

function errnoOf(error: Error): string | undefined {
  return "errno" in error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
