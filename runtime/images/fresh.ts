import { readFileSync } from "node:fs";
import type { Baseline, ImageFormat, ImageMeta } from "./image.ts";
import { baselineId } from "./images.ts";

/**
 * The first line of a file with a fresh guest, as JSON. The guest's memory above the stack follows,
 * then the numbers and the packed changes of each part of its pages.
 */
export interface FreshHead {
  readonly id: string;
  readonly meta: ImageMeta;
  /** Bytes that each part takes. */
  readonly parts: readonly { readonly numbers: number; readonly packed: number }[];
}

/**
 * The fresh guest that a build keeps beside the entry of its thread: to make one anew takes longer
 * than to start the thread. Returns null if there is none, or if it is damaged or of another build.
 */
export function readFresh(file: URL, format: ImageFormat): Baseline | null {
  try {
    const bytes = readFileSync(file);
    let at = bytes.indexOf("\n") + 1;
    const { id, meta, parts }: FreshHead = JSON.parse(bytes.toString("utf8", 0, at));
    const next = (length: number, zeros = 0) => {
      const shared = new Uint8Array(new SharedArrayBuffer(length));
      shared.set(bytes.subarray(at, at + length - zeros), zeros);
      at += length - zeros;
      return shared;
    };
    const memory = next(meta.linearBytes, meta.stackPointer);
    const { granted: _granted, texts: _texts, ...identified } = meta;
    if (JSON.stringify(meta.gate) !== JSON.stringify(format) || baselineId(memory, identified) !== id) return null;
    const pages = parts.map(({ numbers, packed }) => ({
      numbers: new Uint32Array(next(numbers).buffer),
      changes: new Uint32Array(next(0).buffer),
      packed: next(packed),
    }));
    return { image: { id, meta, memory }, pages };
  } catch {
    return null;
  }
}
