import type { PreludeEntry } from "./engine.ts";

/** Bytes of a page of guest memory: the grain of a checkpoint. */
export const PAGE_BYTES = 4096;

/** What an image can be read with. Another format, another build of the engine or another bridge refuses it by name. */
export interface ImageGate {
  /** Of the page and meta layout. */
  readonly format: number;
  /** SHA-256 of the engine's wasm, hex. */
  readonly wasm: string;
  /** Of the messages between host and prelude. */
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
  readonly gate: ImageGate;
  /** SHA-256 of the prelude, hex. It only identifies: the image contains the prelude. */
  readonly prelude: string;
  /** Bytes of linear memory, a multiple of 64 KiB. */
  readonly linearBytes: number;
  readonly stackPointer: number;
  readonly runtimePtr: number;
  readonly contextPtr: number;
  readonly entries: Readonly<Record<PreludeEntry, number>>;
  /** Bytes beyond its own limit that the guest was granted. */
  readonly granted: number;
  readonly texts: readonly TextPlace[];
}

/**
 * Pages of linear memory, as XOR with those of the base: few bytes of a page change at a time, so most of it is zero. A
 * page that the base does not have is zero there.
 */
export interface ImagePages {
  /** Ascending. */
  readonly numbers: Uint32Array;
  /** `numbers.length * PAGE_BYTES`. */
  readonly bytes: Uint8Array;
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

/** Puts pages onto the memory of the image that they are changes of, in place. */
export function applyPages(memory: Uint8Array, { numbers, bytes }: ImagePages): void {
  const target = words(memory);
  const change = words(bytes);
  numbers.forEach((number, index) => {
    const to = number * PAGE_WORDS;
    const from = index * PAGE_WORDS;
    for (let word = 0; word < PAGE_WORDS; word++) {
      const bits = change[from + word];
      if (bits) target[to + word] = (target[to + word] ?? 0) ^ bits;
    }
  });
}

const PAGE_WORDS = PAGE_BYTES / 4;
const words = ({ buffer, byteOffset, byteLength }: Uint8Array) => new Int32Array(buffer, byteOffset, byteLength / 4);
