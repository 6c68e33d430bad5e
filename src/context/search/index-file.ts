import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { hasCode } from "../../../runtime/index.ts";
import { type CheckedFile, openChecked, writeChecked } from "../../platform/checked-file.ts";

// A checked file: segments, one after the other; then as JSON what they are an index of, and the
// place and the counts of each of them; then the length of the JSON, 32 bits.

/** The numbers that an index has of each segment, in this order. */
export interface SegmentFacts {
  /** The place of its first byte in the file. */
  readonly at: number;
  readonly bytes: number;
  /** The UTF-16 unit of P with which it begins. */
  readonly start: number;
  /** Chunks of P, and the words in all of them. */
  readonly chunks: number;
  readonly words: number;
  readonly buckets: number;
}

/** A segment that is not in a file yet. */
export interface Segment extends Omit<SegmentFacts, "at" | "bytes"> {
  readonly content: Uint8Array;
}

/** An index file that is open. Disposing it closes it. */
export interface IndexFile extends Pick<CheckedFile, "length" | "read">, Disposable {
  readonly segments: readonly SegmentFacts[];
}

const END_BYTES = 4;

/**
 * Writes a file of segments that are given one by one. It is written under a name of its own and
 * then renamed: a reader sees a whole file or none, and of two writers the last wins.
 */
export function writeIndexFile(path: string, mark: string, segments: Iterable<Segment>): void {
  const file = writeChecked(dirname(path), basename(path));
  try {
    const listed: number[][] = [];
    for (const { content, start, chunks, words, buckets } of segments) {
      listed.push([file.length(), content.length, start, chunks, words, buckets]);
      file.put(content);
    }
    const facts = Buffer.from(JSON.stringify({ mark, segments: listed }));
    const end = Buffer.alloc(END_BYTES);
    end.writeUInt32LE(facts.length);
    file.put(facts);
    file.put(end);
    file.end();
  } finally {
    file.drop();
  }
}

/**
 * Opens a file that has this mark; undefined if there is none, or if its end is damaged. Each page
 * is checked when it is read.
 */
export function openIndexFile(path: string, mark: string): IndexFile | undefined {
  if (!existsSync(path)) return undefined;
  const file = unlessDamaged(() => openChecked(path));
  if (!file) return undefined;
  const segments = unlessDamaged(() => segmentsIn(file, mark));
  if (segments) return { ...file, segments };
  file[Symbol.dispose]();
  return undefined;
}

function unlessDamaged<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (hasCode(error, "context_lost")) return undefined;
    throw error;
  }
}

function segmentsIn(file: CheckedFile, mark: string): readonly SegmentFacts[] | undefined {
  const end = file.length - END_BYTES;
  const begin = end < 0 ? -1 : end - file.read(end, file.length).readUInt32LE(0);
  if (begin < 0) return undefined;
  const facts: unknown = JSON.parse(file.read(begin, end).toString());
  if (typeof facts !== "object" || facts === null || !("mark" in facts && "segments" in facts)) return undefined;
  if (facts.mark !== mark || !Array.isArray(facts.segments)) return undefined;
  const listed: readonly (readonly number[])[] = facts.segments;
  return listed.map(([at = 0, bytes = 0, start = 0, chunks = 0, words = 0, buckets = 0]) => ({
    at,
    bytes,
    start,
    chunks,
    words,
    buckets,
  }));
}
