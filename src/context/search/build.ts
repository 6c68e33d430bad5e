import { randomUUID } from "node:crypto";
import { chmodSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { errorCode } from "../../platform/errors.ts";
import { makeFolder } from "../../platform/make-folder.ts";
import type { Text } from "../text/text.ts";
import { indexForm } from "./tokens.ts";

/** The source of an index. */
export interface SearchSource {
  readonly text: Text;
  /** Ranges of P that are searched, sorted, not overlapping, UTF-16 units. */
  readonly documents: readonly Span[];
  /** sha256 of P's UTF-8, hex. */
  readonly hash: string;
}

export interface IndexLocation {
  /** Folder of the index files; made when missing. */
  dir: string;
  /** Told how much of P is indexed, 0..1, about a hundred times. */
  onProgress?: (fraction: number) => void;
}

const PROGRESS_STEP = 0.01;
/** Postings that FTS5 gathers before it writes them: with 1 MB, its default, 100 MB of P took 30 % longer to insert. */
const PENDING_BYTES = 16 * 1024 * 1024;
/** Time to wait while another builder tests whether this file is abandoned, ms. */
const LOCK_TIMEOUT = 10_000;

/**
 * Builds under a name of its own and renames, so that a reader sees a whole file or none, and of two builders the
 * last wins with an equal file.
 */
export function buildIndexFile(
  path: string,
  source: SearchSource,
  mark: string,
  onProgress?: (fraction: number) => void,
) {
  makeFolder(dirname(path));
  removeAbandoned(path);
  // A name that nobody else ever has: another builder may remove the file in the instant before it is locked, and a
  // name that is used again would then be two builders' file.
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    {
      using database = new DatabaseSync(temporary, { timeout: LOCK_TIMEOUT });
      chmodSync(temporary, 0o600);
      fill(database, source, mark, onProgress);
    }
    renameSync(temporary, path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

// FTS5 keeps positions (detail = full) though none is asked for: without content and positions its bm25() is always 0.
// A tokenizer belongs to a whole table, so words as they are written and their stems have a table each: decision 0008.
function fill(database: DatabaseSync, source: SearchSource, mark: string, onProgress?: (fraction: number) => void) {
  // A file that is not renamed is never read, so it needs no journal on disk; the commit syncs it once.
  database.exec(`
    PRAGMA journal_mode = MEMORY; PRAGMA synchronous = NORMAL; PRAGMA locking_mode = EXCLUSIVE;
    BEGIN EXCLUSIVE;
    CREATE TABLE meta (mark TEXT NOT NULL, chunks INTEGER NOT NULL) STRICT;
    CREATE TABLE chunks (id INTEGER PRIMARY KEY, start INTEGER NOT NULL, end INTEGER NOT NULL) STRICT;
    CREATE VIRTUAL TABLE words USING fts5 (body, content = '', tokenize = 'ascii');
    CREATE VIRTUAL TABLE stems USING fts5 (body, content = '', tokenize = 'porter ascii');
    INSERT INTO words (words, rank) VALUES ('hashsize', ${PENDING_BYTES});
    INSERT INTO stems (stems, rank) VALUES ('hashsize', ${PENDING_BYTES});
  `);
  const addChunk = database.prepare("INSERT INTO chunks (id, start, end) VALUES (?, ?, ?)");
  const addWords = database.prepare("INSERT INTO words (rowid, body) VALUES (?, ?)");
  const addStems = database.prepare("INSERT INTO stems (rowid, body) VALUES (?, ?)");
  let id = 0;
  let told = 0;
  for (const { start, end, text } of chunksOf(source.text, source.documents)) {
    id += 1;
    addChunk.run(id, start, end);
    const form = indexForm(text);
    addWords.run(id, form);
    addStems.run(id, form);
    const fraction = end / source.text.length;
    if (fraction < told + PROGRESS_STEP || fraction >= 1) continue;
    told = fraction;
    onProgress?.(fraction);
  }
  database.prepare("INSERT INTO meta (mark, chunks) VALUES (?, ?)").run(mark, id);
  database.exec("COMMIT");
  onProgress?.(1);
}

/** Removes what a builder that was killed has left: a living one holds SQLite's exclusive lock on its file. */
function removeAbandoned(path: string): void {
  const folder = dirname(path);
  for (const name of readdirSync(folder)) {
    if (name.startsWith(`${basename(path)}.`) && name.endsWith(".tmp") && isUnlocked(join(folder, name))) {
      rmSync(join(folder, name), { force: true });
    }
  }
}

function isUnlocked(path: string): boolean {
  const SQLITE_BUSY = 5;
  try {
    using database = new DatabaseSync(path);
    database.exec("BEGIN EXCLUSIVE; ROLLBACK");
    return true;
  } catch (error) {
    return !(error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY);
  }
}

/** A half-open range of P, UTF-16 units. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Most UTF-16 units in a chunk: about one screen of code, small enough that a hit can be read whole. */
export const CHUNK_UNITS = 1500;

/**
 * Cuts documents (sorted, not overlapping) into chunks of whole lines, as many as fit in `CHUNK_UNITS`. A longer
 * line is cut at that length, never inside a surrogate pair. Chunks of a document tile it; none crosses its ends.
 */
export function* chunksOf(text: Text, documents: readonly Span[]): Generator<Span & { text: string }> {
  for (const document of documents) {
    for (let start = document.start; start < document.end; ) {
      const ahead = text.slice(start, Math.min(start + CHUNK_UNITS, document.end));
      const length = start + ahead.length < document.end ? cut(ahead) : ahead.length;
      yield { start, end: start + length, text: ahead.slice(0, length) };
      start += length;
    }
  }
}

/** Length of the first chunk of a text that goes on after `ahead`. */
function cut(ahead: string): number {
  const lineEnd = ahead.lastIndexOf("\n") + 1;
  if (lineEnd > 0) return lineEnd;
  const last = ahead.charCodeAt(ahead.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? ahead.length - 1 : ahead.length;
}
