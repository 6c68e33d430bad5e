import { LIMITS, RlmError } from "../../runtime/index.ts";
import type { Context } from "../context/index.ts";
import { displayName } from "../platform/ids.ts";
import { type SessionRow, type SpaceLeft, storeFull } from "../store/index.ts";

/**
 * Bytes that a session and its children take in the store, and the most that they may. Each commit is checked alone: calls
 * that are answered at once may exceed the limit by one image each.
 */
export type Space = ReturnType<typeof openSpace>;

/** @param known the context that the session has already */
export function openSpace(
  row: Pick<SessionRow, "id" | "name" | "bytes">,
  known: Pick<Context, "parts"> | null,
  maxSessionMb: number = LIMITS.sessionMb,
) {
  let taken = row.bytes;
  const counted = new Set(known?.parts.map(({ hash }) => hash));
  const left = (): SpaceLeft => ({ label: displayName(row), taken, most: maxSessionMb * 2 ** 20 });
  return {
    /** For a commit, which is refused if it takes more. */
    left,
    /** A commit that is kept has taken so many bytes. */
    grown(bytes: number): void {
      taken += bytes;
    },
    /** Counts a context that is to be kept, and its index of so many bytes. @throws RlmError `store_full` */
    take({ parts }: Pick<Context, "parts">, indexBytes: number): void {
      const added = parts.filter(({ hash }) => !counted.has(hash));
      const more = added.reduce((sum, { bytes }) => sum + bytes, indexBytes);
      if (taken + more > left().most) throw storeFull(left(), more);
      for (const { hash } of added) counted.add(hash);
      taken += more;
    },
  };
}

export function isFull(error: unknown): boolean {
  return error instanceof RlmError && error.code === "store_full";
}
