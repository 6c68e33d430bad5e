import { type ErrorCode, RlmError } from "../../runtime/errors.ts";

/** The message of an error, or the text of whatever else was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The class of an error, without its message, which may have contents. */
export function errorName(error: unknown): string {
  return error instanceof Error ? error.name : "Error";
}

/** Resolves with null if the work fails with this code. */
export async function nullIf<T>(code: ErrorCode, work: Promise<T>): Promise<T | null> {
  return work.catch((error: unknown) => {
    if (error instanceof RlmError && error.code === code) return null;
    throw error;
  });
}

/** Resolves with null if the work fails as an RlmError says. */
export async function nullIfFailed<T>(work: Promise<T>): Promise<T | null> {
  return work.catch((error: unknown) => {
    if (error instanceof RlmError) return null;
    throw error;
  });
}

/** `EACCES` and the like, of a failed operation of Node. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
