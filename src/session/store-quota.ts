import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { LIMITS, RlmError, remedy } from "../../runtime/index.ts";
import type { Context } from "../context/index.ts";
import { megabytes } from "../platform/figures.ts";
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
  /**
   * Counts a context that is to be kept, and its index of so many bytes.
   * @throws RlmError `store_full`; `context_too_large` if the files of large contexts would take too much
   */
  take(context: Pick<Context, "hash" | "parts" | "text">, indexBytes: number): void;
  /** Bytes that the search index of a large context may have. */
  indexRoom(context: Pick<Context, "hash">): number;
}

/** The sizes that a quota goes by. */
export interface QuotaOptions {
  readonly maxSessionMb?: number | undefined;
  /** The most that a context may have, bytes. */
  readonly maxContextBytes: number;
  /** Hashes of P of the contexts that the session has had. */
  readonly hashes: readonly string[];
  /** Folder of search indexes; absent: they go with the process. */
  readonly indexDir?: string | undefined;
}

/** Files of a session's large contexts may take so many times what a context may have. */
const TEXTS_OF_CONTEXT = 3;

/** @param known the context that the session has already */
export function openStoreQuota(
  row: Pick<SessionRow, "id" | "name" | "bytes" | "text_bytes">,
  known: Pick<Context, "parts" | "text"> | null,
  { maxSessionMb = LIMITS.sessionMb, maxContextBytes, hashes, indexDir }: QuotaOptions,
): StoreQuota {
  let taken = row.bytes;
  const counted = new Set(known ? partsInRows(known).map(({ hash }) => hash) : []);
  const left = (): SpaceLeft => ({ label: displayName(row), taken, most: maxSessionMb * 2 ** 20 });
  const indexed = new Set(hashes);
  const files = new Set(known ? filesOf(known) : []);
  let textBytes = row.text_bytes;
  const mostFiles = TEXTS_OF_CONTEXT * maxContextBytes;

  function takeFiles(context: Pick<Context, "text" | "hash">): void {
    const added = filesOf(context).filter((path) => !files.has(path));
    if (added.length === 0) return;
    const more = sizeOf(added);
    const sum = textBytes + more + indexBytesOf(indexed, indexDir);
    if (sum > mostFiles) throw textsTooLarge(displayName(row), sum, maxContextBytes);
    for (const path of added) files.add(path);
    indexed.add(context.hash);
    textBytes += more;
  }

  return {
    left,
    grown(bytes) {
      taken += bytes;
    },
    take(context, indexBytes) {
      takeFiles(context);
      const added = partsInRows(context).filter(({ hash }) => !counted.has(hash));
      const more = added.reduce((sum, { bytes }) => sum + bytes, indexBytes);
      if (taken + more > left().most) throw storeFull(left(), more);
      for (const { hash } of added) counted.add(hash);
      taken += more;
    },
    indexRoom({ hash }) {
      const others = new Set([...indexed].filter((one) => one !== hash));
      return Math.max(0, mostFiles - textBytes - indexBytesOf(others, indexDir));
    },
  };
}

/** Parts of a large context lie in files, and take nothing of the database. */
const partsInRows = ({ parts, text }: Pick<Context, "parts" | "text">) => (text.large ? [] : parts);

/** Texts and tables of a context. */
function filesOf({ text: { data } }: Pick<Context, "text">): readonly string[] {
  return "files" in data ? [...data.files.map(({ path }) => path), data.table] : [];
}

const sizeOf = (paths: readonly string[]) =>
  paths.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);

/** Bytes of the search indexes of texts in a folder, whose names begin with the hashes of the texts. */
export function indexBytesOf(hashes: ReadonlySet<string>, folder: string | undefined): number {
  if (folder === undefined || !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return 0;
  const those = readdirSync(folder).filter((name) => hashes.has(name.slice(0, HASH_UNITS)));
  return sizeOf(those.map((name) => join(folder, name)));
}

const HASH_UNITS = 64;

function textsTooLarge(label: string, sum: number, maxContextBytes: number): RlmError {
  const most = megabytes(TEXTS_OF_CONTEXT * maxContextBytes);
  const needed = String(Math.ceil(sum / TEXTS_OF_CONTEXT / 2 ** 20));
  const problem = `large contexts of session ${label} would take ${megabytes(sum)} of disk with their search indexes, and may take ${most}`;
  return new RlmError("context_too_large", problem, {
    suggestion: `Load it in another session, or ${remedy("raiseContext", needed)}.`,
  });
}
