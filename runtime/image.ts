import type { PreludeEntries } from "./engine.ts";

/** Bytes of a page of guest memory: the grain of a checkpoint. */
export const PAGE_BYTES = 4096;

/** What an image can be read with. Another format, another build of the engine or another bridge refuses it by name. */
export interface ImageFormat {
  /** Of the page and meta layout. */
  readonly format: number;
  /** SHA-256 of the engine's wasm, hex. */
  readonly wasm: string;
  /** Version of the guest code, and of the messages between it and the host. */
  readonly bridge: number;
}

/** A text of the host that lies in guest memory: left out of images, written back when one is opened. */
export interface TextPlace {
  /** As the library names it: `P`. */
  readonly name: string;
  /** Which text it is: for P the hash of the context. */
  readonly id: string;
  readonly encoding: "latin1" | "utf16le";
  /** In linear memory, bytes. */
  readonly address: number;
  readonly bytes: number;
}

/** All of an image but its pages; plain JSON. */
export interface ImageMeta {
  readonly gate: ImageFormat;
  /**
   * SHA-256 of the prelude and its configuration, hex. It does not refuse an image, which contains its prelude: if it is
   * not that of the build, the guest may lack builtins.
   */
  readonly prelude: string;
  /** Bytes of linear memory, a multiple of 64 KiB. */
  readonly linearBytes: number;
  readonly stackPointer: number;
  readonly runtimePtr: number;
  readonly contextPtr: number;
  readonly entries: PreludeEntries<number>;
  /** Bytes beyond its own limit that the guest was granted. */
  readonly granted: number;
  readonly texts: readonly TextPlace[];
}

/** Changed pages of linear memory, ascending from part to part: a row of the store each. */
export type ImagePages = readonly PagesPart[];

/**
 * Some pages and their XOR with those of the base: of most only a few words have changed. A page that the base does not
 * have is zero there.
 */
export interface PagesPart {
  /** Ascending. */
  readonly numbers: Uint32Array;
  /**
   * For each page a word with a bit for each of its 32 rows in which a word has changed; for each such row one with a bit
   * for each such word; then the XOR of these, in order.
   */
  readonly changes: Uint32Array;
}

/** A guest at rest: what changed since `base`, another image of the same guest; everything where base is null. */
export interface ImageDelta {
  readonly id: string;
  readonly base: string | null;
  readonly meta: ImageMeta;
  readonly pages: ImagePages;
}

/** A whole guest at rest. Where texts lie memory is zero. */
export interface GuestImage {
  readonly id: string;
  readonly meta: ImageMeta;
  /** `meta.linearBytes`. */
  readonly memory: Uint8Array;
}

/** A fresh guest, which every one is that a build makes with a library. It lies in shared memory, and is never written to. */
export interface Baseline {
  readonly image: GuestImage;
  /** The same, as a store keeps it. */
  readonly pages: ImagePages;
}
