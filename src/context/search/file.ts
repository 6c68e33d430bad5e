import { createHash } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { buildIndexFile, hasCode, type IndexLocation, type SearchSource } from "./build.ts";
import { INDEX_FORMAT } from "./tokens.ts";

const MAGIC = "belay search index";
/** Another builder may remove a temporary file in the instant when it is not locked: then it is built again. */
const BUILD_ATTEMPTS = 3;

/**
 * Opens the index file of a context read-only, and first builds one if there is none that can be trusted.
 * `rebuild` replaces the file in any case. Errors of the file system (folder not writable, disk full) are thrown.
 */
export function openIndexFile(source: SearchSource, location: IndexLocation, rebuild = false): DatabaseSync {
  const path = pathOf(source, location, INDEX_FORMAT);
  const mark = markOf(source);
  const found = rebuild ? undefined : openTrusted(path, mark);
  if (found !== undefined) return found;
  for (let attempt = 1; attempt <= BUILD_ATTEMPTS; attempt += 1) {
    buildIndexFile(path, source, mark, location.onProgress);
    const built = openTrusted(path, mark);
    if (built === undefined) continue;
    removeEarlier(source, location);
    return built;
  }
  throw new Error(`search index ${path} cannot be read back`);
}

function pathOf(source: SearchSource, location: IndexLocation, format: number): string {
  return join(location.dir, `${source.hash}-v${format}.sqlite`);
}

/** Files of earlier formats are of no use to this build; an earlier build makes its own again. */
function removeEarlier(source: SearchSource, location: IndexLocation): void {
  for (let format = 1; format < INDEX_FORMAT; format++) rmSync(pathOf(source, location, format), { force: true });
}

/** Identifies what an index was built from. The same P can be divided into documents in two ways, hence both. */
function markOf(source: SearchSource): string {
  const spans = source.documents.map(({ start, end }) => `${start}-${end}`).join(",");
  const documents = createHash("sha256").update(spans).digest("hex");
  return `${MAGIC} ${INDEX_FORMAT} ${source.hash} ${documents}`;
}

function openTrusted(path: string, mark: string): DatabaseSync | undefined {
  if (!existsSync(path)) return undefined;
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    const facts = database.prepare("SELECT mark, chunks, (SELECT count(*) FROM chunks) AS found FROM meta").get();
    if (facts?.mark === mark && facts.chunks === facts.found) return database;
  } catch (error) {
    if (!isSqliteError(error)) throw error;
  }
  database?.close();
  return undefined;
}

/** True if SQLite itself reported this: an unreadable, damaged or foreign file, not a mistake of the caller. */
export function isSqliteError(error: unknown): boolean {
  return hasCode(error, "ERR_SQLITE_ERROR");
}
