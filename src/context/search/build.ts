import { existsSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { hasCode, LIMITS, RlmError } from "../../../runtime/index.ts";
import { entryUrl } from "../../entries.ts";
import { errorCode } from "../../platform/errors.ts";
import { megabytes } from "../../platform/figures.ts";
import { makeFolder } from "../../platform/make-folder.ts";
import type { Text } from "../text/text.ts";
import type { Span } from "./chunks.ts";
import { openIndexFile, type Segment, writeIndexFile } from "./index-file.ts";
import { buildParts, openGrowingRoom, type Parts, partPath, SHARED } from "./parts.ts";
import { partsIn, planOf } from "./plan.ts";

/** The source of an index. */
export interface SearchSource extends Pick<Parts, "hash"> {
  readonly text: Text;
  /** Ranges of P that are searched, sorted, not overlapping. They are gone through more than once. */
  readonly documents: Iterable<Span>;
}

export interface IndexLocation {
  /** Folder of the index files; made when missing. */
  readonly dir: string;
  /** Told how much of P is indexed, 0..1, when that has grown. */
  readonly onProgress?: (fraction: number) => void;
  /**
   * Called again and again while an index is built. If it throws, the build ends, and what is done
   * of it is kept.
   */
  readonly between?: () => void;
  /** The most bytes that an index may have. */
  readonly maxBytes?: number;
  /** Bytes that are left for the index of a large P on the disk that its session may take; absent: enough. */
  readonly room?: number;
}

/** With fewer parts to build, another thread would start too late to help. */
const PARTS_TO_SHARE = 4;
const MOST_THREADS = 4;
/** Memory of such a thread for what it drops soon. V8 would let it grow to 48 MB. */
const YOUNG_MB = 3;
/** Time after which the other threads of a build are taken for dead if they finish no part, ms. */
const STALLED_MS = 5000;
const LOOK_MS = 20;

/**
 * Builds an index in parts, which are kept if the build ends early, and joins them. There may be no
 * index afterwards: a part was damaged and is removed, or another builder has joined and removed
 * the parts.
 *
 * @throws RlmError `search_too_large`
 */
export function buildIndexFile(path: string, source: SearchSource, mark: string, options: IndexLocation): void {
  makeFolder(dirname(path));
  const { onProgress = () => {}, between = () => {} } = options;
  // A small P is divided in no time, so that each build has some time for its first part.
  const plan = planOf(source.text, source.documents, source.text.large && between);
  const count = partsIn(plan);
  const shared = new Int32Array(new SharedArrayBuffer(SHARED.words * Int32Array.BYTES_PER_ELEMENT));
  const parts = { text: source.text.data, plan, hash: source.hash, path, mark, shared };
  let reported = 0;
  function look(): void {
    // The last one is told when the file is whole.
    const done = Math.min(Atomics.load(shared, SHARED.done), count - 1);
    if (done > reported) onProgress(done / count);
    reported = Math.max(done, reported);
    if (Atomics.load(shared, SHARED.kb) * 1024 > mostOf(source, options)) {
      Atomics.store(shared, SHARED.stop, 1);
      removeBeside(path);
      writeIndexFile(refusalPath(path), refusalMark(mark, source, options), []);
      throw tooLarge(source, options);
    }
    between();
  }
  try {
    startThreads(parts, missingIn(parts, count));
    buildParts(parts, look);
    waitForOthers(shared, count, look);
    writeIndexFile(path, mark, segmentsOf(parts, count, look));
    removeBeside(path);
    onProgress(1);
  } catch (error) {
    Atomics.store(shared, SHARED.stop, 1);
    if (isDiskFull(error)) removeBeside(path);
    if (errorCode(error) !== "ENOENT") throw error;
  } finally {
    Atomics.store(shared, SHARED.stop, 1);
  }
}

/** The number of parts that are not there yet. */
function missingIn(parts: Parts, count: number): number {
  let missing = 0;
  for (let number = 0; number < count; number++) if (!existsSync(partPath(parts, number))) missing += 1;
  return missing;
}

/** True if there is no room for a file. What was made of it is then of no use. */
const isDiskFull = (error: unknown) => ["ENOSPC", "EDQUOT", "EFBIG"].includes(errorCode(error) ?? "");

function startThreads(parts: Parts, missing: number): void {
  if (missing < PARTS_TO_SHARE) return;
  for (let thread = 1; thread < Math.min(availableParallelism(), MOST_THREADS); thread++) {
    // Flags of a caller such as --input-type are refused for a thread.
    const options = { workerData: parts, execArgv: [], resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } };
    const worker = new Worker(entryUrl("context/search/thread-entry"), options);
    worker.on("error", () => {});
    worker.unref();
  }
}

function waitForOthers(shared: Int32Array, all: number, look: () => void): void {
  let stalledMs = 0;
  for (let done = Atomics.load(shared, SHARED.done); done < all && stalledMs < STALLED_MS; ) {
    if (Atomics.wait(shared, SHARED.done, done, LOOK_MS) === "timed-out") stalledMs += LOOK_MS;
    else stalledMs = 0;
    done = Atomics.load(shared, SHARED.done);
    look();
  }
}

/** The index of a large P may have as many bytes as P, if there is room. */
function mostOf(
  { text }: SearchSource,
  { maxBytes = LIMITS.searchIndexBytes, room = Number.POSITIVE_INFINITY }: IndexLocation,
): number {
  return text.large ? Math.min(Math.max(maxBytes, text.bytes), room) : maxBytes;
}

/**
 * A refused build costs as much as one that ends, so it is kept that there is none. Another limit
 * is another refusal.
 */
const refusalPath = (path: string) => `${path}.refused`;
const refusalMark = (mark: string, source: SearchSource, options: IndexLocation) =>
  `${mark} has more than ${mostOf(source, options)}`;

/** @throws RlmError `search_too_large` if the index was refused before */
export function refuseAgain(path: string, source: SearchSource, mark: string, options: IndexLocation): void {
  using refused = openIndexFile(refusalPath(path), refusalMark(mark, source, options));
  if (refused) throw tooLarge(source, options);
}

function tooLarge(source: SearchSource, options: IndexLocation): RlmError {
  const size = megabytes(source.text.bytes);
  const most = megabytes(mostOf(source, options));
  const isOfSession = source.text.large && mostOf(source, options) === options.room;
  const left = isOfSession ? `the ${most} that the session's large contexts have left on disk` : most;
  return new RlmError("search_too_large", `the search index of P (${size}) would have more than ${left}`, {
    suggestion: isOfSession
      ? "Use find, which needs no index, or load P in a session of its own."
      : "Use find, which needs no index, or load fewer files.",
  });
}

/** @param look is called before each segment, and may throw to end the work */
function* segmentsOf(parts: Parts, count: number, look: () => void): Generator<Segment> {
  using room = openGrowingRoom();
  for (let number = 0; number < count; number++) {
    look();
    const path = partPath(parts, number);
    using part = openIndexFile(path, parts.mark);
    const [facts] = part?.segments ?? [];
    if (!part || !facts) throw missing(path);
    try {
      yield { ...facts, content: part.read(facts.at, facts.at + facts.bytes, room.for(facts.bytes)) };
    } catch (error) {
      throw hasCode(error, "context_lost") ? missing(path) : error;
    }
  }
}

/** A part that is missing or damaged is made again by the next build. */
function missing(path: string): Error {
  rmSync(path, { force: true });
  return Object.assign(new Error("a part of the search index is missing"), { code: "ENOENT" });
}

/**
 * Removes the parts of an index, and what builders that were killed have left. One that still lives
 * finds them missing.
 */
function removeBeside(path: string): void {
  for (const name of readdirSync(dirname(path))) {
    if (name.startsWith(`${basename(path)}.`) && /\.(?:part|tmp)$/.test(name))
      rmSync(join(dirname(path), name), { force: true });
  }
}
