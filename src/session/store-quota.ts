import { LIMITS } from "../../runtime/index.ts";
import type { Context } from "../context/index.ts";
import { displayName } from "../platform/ids.ts";
import { type SessionRow, type SpaceLeft, storeFull } from "../store/index.ts";

/**
 * Bytes that a session and its children take in the store, and the most that they may. Each commit is checked alone: calls
 * that are answered at once may exceed the limit by one image each.
 */
export interface StoreQuota {
  /** Returns what a commit needs to be refused if it takes more. */
  left(): SpaceLeft;
  /** Counts the bytes that a commit has taken. */
  grown(bytes: number): void;
  /** Counts a context that is to be kept, and its index of so many bytes. @throws RlmError `store_full` */
  take(context: Pick<Context, "parts">, indexBytes: number): void;
}

/** @param known the context that the session has already */
export function openStoreQuota(
  row: Pick<SessionRow, "id" | "name" | "bytes">,
  known: Pick<Context, "parts"> | null,
  maxSessionMb: number = LIMITS.sessionMb,
): StoreQuota {
  let taken = row.bytes;
  const counted = new Set(known?.parts.map(({ hash }) => hash));
  const left = (): SpaceLeft => ({ label: displayName(row), taken, most: maxSessionMb * 2 ** 20 });
  return {
    left,
    grown(bytes) {
      taken += bytes;
    },
    take({ parts }, indexBytes) {
      const added = parts.filter(({ hash }) => !counted.has(hash));
      const more = added.reduce((sum, { bytes }) => sum + bytes, indexBytes);
      if (taken + more > left().most) throw storeFull(left(), more);
      for (const { hash } of added) counted.add(hash);
      taken += more;
    },
  };
}
