import type { EngineImage, EnginePlace } from "../engine.ts";

/** Bytes of a page of guest memory: the grain of a checkpoint. */
export const PAGE_BYTES = 4096;

/**
 * The origin of an image. A build with another format, engine or bridge refuses the image by name.
 */
export interface ImageFormat {
  /** Version of the page and meta layout. */
  readonly format: number;
  /** SHA-256 of the engine's wasm, hex. */
  readonly wasm: string;
  /** Version of the guest code, and of the messages between it and the host. */
  readonly bridge: number;
}

/**
 * A text of the host that lies in guest memory: left out of images, written back when one is
 * opened.
 */
export interface TextPlace extends EnginePlace {
  /** Identifies the text. For P it is the hash of the context. */
  readonly id: string;
}

/** All of an image but its pages; plain JSON. */
export interface ImageMeta extends Omit<EngineImage, "memory"> {
  readonly gate: ImageFormat;
  /**
   * SHA-256 of the prelude and its configuration, hex. It does not refuse an image, which contains
   * its prelude: if it is not that of the build, the guest may lack builtins.
   */
  readonly prelude: string;
  /** Bytes of linear memory, a multiple of 64 KiB. */
  readonly linearBytes: number;
  /** Bytes beyond its own limit that the guest was granted. */
  readonly granted: number;
  readonly texts: readonly TextPlace[];
}

/**
 * Changed pages of linear memory, ascending from part to part. The store keeps a row for each part.
 */
export type ImagePages = readonly PagesPart[];

/**
 * Some pages, as their XOR with the pages of the base: in most of them only a few words have
 * changed. A page that the base does not have counts as zero.
 */
export interface PagesPart {
  /** Ascending. */
  readonly numbers: Uint32Array;
  /**
   * Each page has a word with a bit for each of its 32 rows that changed. Each such row has a word
   * with a bit for each word that changed. Then come the XORs of those words, in order.
   */
  readonly changes: Uint32Array;
  /**
   * If given, these are the changes, packed as a store keeps them, in a buffer of their own.
   * `changes` is then empty.
   */
  readonly packed?: Uint8Array;
}

/** The buffers of a part. */
export function buffersOf({ numbers, changes, packed }: PagesPart): ArrayBufferLike[] {
  return [numbers.buffer, changes.buffer, ...(packed ? [packed.buffer] : [])];
}

/**
 * A guest at rest, as what changed since `base`, another image of the same guest. If base is null
 * it has everything.
 */
export interface ImageDelta {
  readonly id: string;
  readonly base: string | null;
  readonly meta: ImageMeta;
  readonly pages: ImagePages;
}

/** A whole guest at rest. Its memory is zero where texts lie. */
export interface GuestImage {
  readonly id: string;
  readonly meta: ImageMeta;
  /** `meta.linearBytes`. */
  readonly memory: Uint8Array;
}

/**
 * A fresh guest. A build makes the same one with a library every time. It lies in shared memory and
 * is never written to.
 */
export interface Baseline {
  readonly image: GuestImage;
  /** The image's pages, as a store keeps them. */
  readonly pages: ImagePages;
}
