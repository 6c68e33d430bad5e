import { existsSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { LIMITS, RlmError } from "../../../runtime/index.ts";
import { entryUrl } from "../../entries.ts";
import { errorCode } from "../../platform/errors.ts";
import { megabytes } from "../../platform/figures.ts";
import { makeFolder } from "../../platform/make-folder.ts";
import type { Text } from "../text/text.ts";
import { openIndexFile, writeIndexFile } from "./index-file.ts";
import { buildParts, type Parts, partPath, planOf, SHARED } from "./parts.ts";

/** The source of an index. */
export interface SearchSource extends Pick<Parts, "documents" | "hash"> {
  readonly text: Text;
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
}

/** With fewer parts to build, another thread would start too late to help. */
const PARTS_TO_SHARE = 4;
const MOST_THREADS = 4;
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
  const { documents, hash } = source;
  const shared = new Int32Array(new SharedArrayBuffer(SHARED.words * Int32Array.BYTES_PER_ELEMENT));
  const parts = { text: source.text.data, documents, hash, path, mark, shared };
  const plan = planOf(source.text, documents);
  const { onProgress = () => {}, between = () => {} } = options;
  let reported = 0;
  function look(): void {
    // The last one is told when the file is whole.
    const done = Math.min(Atomics.load(shared, SHARED.done), plan.length - 1);
    if (done > reported) onProgress(done / plan.length);
    reported = Math.max(done, reported);
    if (Atomics.load(shared, SHARED.bytes) > mostOf(options)) {
      Atomics.store(shared, SHARED.stop, 1);
      removeBeside(path);
      writeIndexFile(refusalPath(path), refusalMark(mark, options), []);
      throw tooLarge(source, options);
    }
    between();
  }
  try {
    startThreads(parts, plan.filter((_, number) => !existsSync(partPath(parts, number))).length);
    buildParts(parts, plan, look);
    waitForOthers(shared, plan.length, look);
    writeIndexFile(path, mark, segmentsOf(parts, plan.length));
    removeBeside(path);
    onProgress(1);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  } finally {
    Atomics.store(shared, SHARED.stop, 1);
  }
}

function startThreads(parts: Parts, missing: number): void {
  if (missing < PARTS_TO_SHARE) return;
  for (let thread = 1; thread < Math.min(availableParallelism(), MOST_THREADS); thread++) {
    // Flags of a caller such as --input-type are refused for a thread.
    const worker = new Worker(entryUrl("context/search/thread-entry"), { workerData: parts, execArgv: [] });
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

const mostOf = ({ maxBytes = LIMITS.searchIndexBytes }: Pick<IndexLocation, "maxBytes">) => maxBytes;
/**
 * A refused build costs as much as one that ends, so it is kept that there is none. Another limit
 * is another refusal.
 */
const refusalPath = (path: string) => `${path}.refused`;
const refusalMark = (mark: string, options: IndexLocation) => `${mark} has more than ${mostOf(options)}`;

/** @throws RlmError `search_too_large` if the index was refused before */
export function refuseAgain(path: string, source: SearchSource, mark: string, options: IndexLocation): void {
  using refused = openIndexFile(refusalPath(path), refusalMark(mark, options));
  if (refused) throw tooLarge(source, options);
}

function tooLarge({ text }: SearchSource, options: IndexLocation): RlmError {
  const [size, most] = [text.bytes, mostOf(options)].map(megabytes);
  const index = `the search index of P (${size}) would have more than ${most}`;
  return new RlmError("search_too_large", index, {
    suggestion: "Use find, which needs no index, or load fewer files.",
  });
}

function* segmentsOf(parts: Parts, count: number): Generator<Uint8Array> {
  for (let number = 0; number < count; number++) {
    const path = partPath(parts, number);
    using part = openIndexFile(path, parts.mark);
    if (!part) {
      rmSync(path, { force: true });
      throw Object.assign(new Error("a part of the search index is missing"), { code: "ENOENT" });
    }
    yield part.read(0, part.bytes);
  }
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
