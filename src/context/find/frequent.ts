/** A literal as bytes. */
export interface LiteralBytes {
  readonly bytes: Uint8Array;
  /** For each byte 255, or 0 if any may stand in its place. It is 0 then. */
  readonly mask: Uint8Array;
  /** Places in it of two bytes that are likely to be rare. */
  readonly rarest: readonly [one: number, other: number];
}

/** All places of a literal in a part of a text. They may overlap. */
export interface Block {
  readonly from: number;
  /** The places before it are known. */
  readonly end: number;
  /** Ascending. */
  readonly places: Uint32Array | readonly number[];
}

/** Bytes of a text in which places are found at once. */
export const BLOCK_BYTES = 64 * 1024;

// The memory of the code: the literal, its mask, a block with the beginning of the next one, places.
const MASK_AT = 256;
const TEXT_AT = 512;
const PLACES_AT = TEXT_AT + BLOCK_BYTES + 1024;

/** `frequent.wat`, assembled by wat2wasm of wabt 1.0.39. */
const CODE =
  "AGFzbQEAAAABCwFgBn9/f39/fwF/AwIBAAUDAQAGBxMCBm1lbW9yeQIABnBsYWNlcwAACrsBAbgBAgJ7BH8gBSELIAMtAAD9DyEGIAQtAAD9DyEHAkADQCAAIAFPDQEgACADav0ABAAgBv0jIAAgBGr9AAQAIAf9I/1O/WQhCAJAA0AgCEUNASAAIAhoaiEJIAggCEEBa3EhCCAJIAFPDQNBACEKA0AgCSAKai0AACAKLQCAAnEgCi0AAEcNASAKQQFqIgogAkkNAAsgBSAJNgIAIAVBBGohBQwACwsgAEEQaiEADAALCyAFIAtrQQJ2Cw==";

/** The memory of the code as bytes, and its function. */
interface Kernel {
  readonly memory: Uint8Array;
  places(from: number, to: number, length: number, one: number, other: number, out: number): number;
}

let kernel: Kernel | null | undefined;

/** False on a processor without the instructions of the code: of x64 those without SSE 4.1, such as QEMU's by default. */
export function findsBlocks(): boolean {
  kernel ??= openKernel();
  return kernel !== null;
}

/**
 * Finds all places of a literal of at most 128 bytes in the block that begins at `from`. Node needs a call for each place, which takes
 * longer if there is one in a few KB.
 */
export function blockOf(haystack: Uint8Array, from: number, { bytes, mask, rarest }: LiteralBytes): Block {
  kernel ??= openKernel();
  if (kernel === null) throw new Error("this processor cannot run frequent.wat");
  const { memory, places } = kernel;
  const { length } = bytes;
  const text = haystack.subarray(from, from + BLOCK_BYTES + length - 1);
  const size = Math.max(text.length - length + 1, 0);
  memory.set(bytes);
  memory.set(mask, MASK_AT);
  memory.set(text, TEXT_AT);
  const count = places(TEXT_AT, TEXT_AT + size, length, ...rarest, PLACES_AT);
  const found = new Uint32Array(memory.buffer, PLACES_AT, count);
  return { from, end: from + size, places: found.map((at) => at - TEXT_AT + from) };
}

function openKernel(): Kernel | null {
  const code = Buffer.from(CODE, "base64");
  if (!WebAssembly.validate(code)) return null;
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(code));
  const { memory, places } = exports;
  if (!(memory instanceof WebAssembly.Memory) || !isPlaces(places)) throw new Error("frequent.wat has other exports");
  return { memory: new Uint8Array(memory.buffer), places };
}

const isPlaces = (value: unknown): value is Kernel["places"] => typeof value === "function";
