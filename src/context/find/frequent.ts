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

// The memory of the code: the literal or tables, the literal's mask, a block with the beginning of the next one, places.
const MASK_AT = 256;
const TEXT_AT = 512;
const PLACES_AT = TEXT_AT + BLOCK_BYTES + 1024;

/** `frequent.wat`, assembled by wat2wasm of wabt 1.0.39. */
const CODE =
  "AGFzbQEAAAABEgJgBn9/f39/fwF/YAN/f38BfwMDAgABBQMBAAYHHAMGbWVtb3J5AgAGcGxhY2VzAAAGdGhyZWVzAAEK+AMCuAECAnsEfyAFIQsgAy0AAP0PIQYgBC0AAP0PIQcCQANAIAAgAU8NASAAIANq/QAEACAG/SMgACAEav0ABAAgB/0j/U79ZCEIAkADQCAIRQ0BIAAgCGhqIQkgCCAIQQFrcSEIIAkgAU8NA0EAIQoDQCAJIApqLQAAIAotAIACcSAKLQAARw0BIApBAWoiCiACSQ0ACyAFIAk2AgAgBUEEaiEFDAALCyAAQRBqIQAMAAsLIAUgC2tBAnYLuwICDXsDfyACIRJBAP0ABAAhCkEA/QAEECELQQD9AAQgIQxBAP0ABDAhDUEA/QAEQCEOQQD9AARQIQ8CQANAIAAgAU8NASAA/QAEACEEIARBD/0P/U4hAyAEQQT9jQFBD/0P/U4hBCAKIAP9DiALIAT9Dv1OIQUgDCAD/Q4gDSAE/Q79TiEGIAcgBf0NDg8QERITFBUWFxgZGhscHSAIIAb9DQ8QERITFBUWFxgZGhscHR79TiAOIAP9DiAPIAT9Dv1O/U4hCSAFIQcgBiEIIAn9UwRAQQAgCf0LBGAgCf0MAAAAAAAAAAAAAAAAAAAAAP0k/WQhEANAIBBoIREgAiAAIBFqQQJrIBEtAGBBGHRyNgIAIAJBBGohAiAQIBBBAWtxIhANAAsLIABBEGohAAwACwsgAiASa0ECdgs=";

/** The memory of the code as bytes, and its function. */
interface Kernel {
  readonly memory: Uint8Array;
  places(from: number, to: number, length: number, one: number, other: number, out: number): number;
  threes(from: number, to: number, out: number): number;
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
  const { memory, places } = openedKernel();
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

/** Bits of a number of `threesIn` for the place. The others are for the literals. */
export const PLACE_BITS = 24;

/**
 * Finds the places of a part of a text, ascending, at which three bytes in turn may be those of some of eight
 * literals: numbers of the place in the part, and above it a bit for each literal. They hold until the next call.
 *
 * @param part at most BLOCK_BYTES and 1000
 * @param tables for each of the three bytes the literals that may have it, by its lower half and then by its upper one
 */
export function threesIn(part: Uint8Array, tables: Uint8Array): Uint32Array {
  const { memory, threes } = openedKernel();
  memory.set(tables);
  memory.set(part, TEXT_AT);
  // A third byte that may have any value may be missing.
  const count = threes(TEXT_AT, TEXT_AT + part.length + 1, PLACES_AT);
  const found = new Uint32Array(memory.buffer, PLACES_AT, count);
  for (let n = 0; n < count; n++) found[n] = (found[n] ?? 0) - TEXT_AT;
  return found;
}

function openedKernel(): Kernel {
  kernel ??= openKernel();
  if (kernel === null) throw new Error("this processor cannot run frequent.wat");
  return kernel;
}

function openKernel(): Kernel | null {
  const code = Buffer.from(CODE, "base64");
  if (!WebAssembly.validate(code)) return null;
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(code));
  const { memory, places, threes } = exports;
  if (!(memory instanceof WebAssembly.Memory) || !isCode(places) || !isCode(threes))
    throw new Error("frequent.wat has other exports");
  return { memory: new Uint8Array(memory.buffer), places, threes };
}

const isCode = (value: unknown): value is (...numbers: number[]) => number => typeof value === "function";
