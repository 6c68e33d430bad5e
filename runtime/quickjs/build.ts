import { hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";

/** The engine, which is handed to each thread. */
interface Build {
  readonly module: WebAssembly.Module;
  /** SHA-256 of its wasm as it was published: the bound changes no image. */
  readonly sha256: string;
}

let build: Build | undefined;

/**
 * Compiles the engine once per process. It takes some ms, since V8 compiles functions when they are
 * called; a thread that waited for other turns of the event loop would begin much later.
 *
 * @param isBrief true before the first thread of a process that ends after a few cells: see
 * `optimizedLate`. It counts only in the first call
 */
export function quickJsBuild(isBrief = false): Build {
  build ??= compiled(isBrief);
  return build;
}

/**
 * True if the engine's file is where its package has it. A bundler may have put another address in
 * its place.
 */
export function hasEngine(): boolean {
  try {
    return existsSync(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
  } catch {
    return false;
  }
}

function compiled(isBrief: boolean): Build {
  const wasm = readFileSync(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
  const sha256 = hash("sha256", wasm);
  const bound = boundMemory(wasm);
  return { module: isBrief ? optimizedLate(bound) : new WebAssembly.Module(bound), sha256 };
}

/**
 * A module that V8 optimizes later than usual. It optimizes a function that has run so many bytes of
 * code, and the engine's interpreter is one function of 37 KB, which has done so before a guest's
 * first cell begins. That takes a core for 80 ms, and a process cannot end before it is done. A cell
 * that works for longer takes up to 100 ms more of the processor. The flag has its usual value again
 * at once: a thread that starts with another one makes Node compile its own code.
 */
function optimizedLate(wasm: Uint8Array<ArrayBuffer>): WebAssembly.Module {
  setFlagsFromString(`--wasm-tiering-budget=${32 * USUAL_BUDGET}`);
  try {
    return new WebAssembly.Module(wasm);
  } finally {
    setFlagsFromString(`--wasm-tiering-budget=${USUAL_BUDGET}`);
  }
}

/** V8's own value, in versions 12 to 14. */
const USUAL_BUDGET = 13_000_000;

/**
 * Keeps V8 13 from freeing replaced wasm code before its module goes. It can free the code of an
 * import twice while threads start and end, and then ends the process:
 * https://github.com/nodejs/node/issues/66366. Neither V8 12 nor 14 does. To be called when the
 * first thread is up: for those that start with a flag of V8 that has changed Node compiles its own
 * code, which takes 30 ms.
 */
export function keepWasmCode(): void {
  if (process.versions.v8.startsWith("13.")) setFlagsFromString("--no-wasm-code-gc");
}

/**
 * The global that `boundMemory` adds to the exports of the engine: the pages of 64 KiB that the
 * engine may have.
 */
export const MOST_PAGES = "most_pages";

/**
 * Returns the engine's wasm with a bound on its linear memory, which the host can move while a
 * guest runs. Beyond the bound the engine gets no memory, as if the computer had none left. The
 * engine's own limit counts neither what lies unused between blocks nor the copy that a growing
 * block needs. A guest and its images are the same with and without the bound.
 *
 * @throws Error if the wasm asks for memory in another way than that of quickjs-wasi 3.6.2
 */
function boundMemory(wasm: Uint8Array): Uint8Array<ArrayBuffer> {
  const parts = [wasm.subarray(0, HEADER_BYTES)];
  let global = 0;
  for (let at = HEADER_BYTES; at < wasm.length; ) {
    const id = wasm[at] ?? 0;
    const [bytes, start] = readNumber(wasm, at + 1);
    at = start + bytes;
    let content = wasm.subarray(start, at);
    if (id === GLOBALS) {
      [global] = readNumber(content, 0);
      content = withItem(content, NO_BOUND);
    } else if (id === EXPORTS) {
      content = withItem(content, [MOST_PAGES.length, ...Buffer.from(MOST_PAGES), AS_GLOBAL, ...numberOf(global)]);
    } else if (id === CODE) content = boundCode(content, global);
    parts.push(Uint8Array.of(id, ...numberOf(content.length)), content);
  }
  return Buffer.concat(parts);
}

const HEADER_BYTES = 8;
const GLOBALS = 6;
const EXPORTS = 7;
const AS_GLOBAL = 3;
const CODE = 10;
/** A global, i32 and mutable, of 65,536 pages: all that there can be. */
const NO_BOUND = [0x7f, 0x01, 0x41, 0x80, 0x80, 0x04, 0x0b];
/**
 * The C library's `sbrk` asks for pages by `memory.grow`, keeps the answer, and compares it with
 * -1.
 */
const ASKS = Buffer.from([0x40, 0x00, 0x22, 0x00, 0x41, 0x7f, 0x46]);
const GROW_BYTES = 2;
const FETCH_BYTES = 2;
/** It is in the code twice: as itself, and within `malloc`. */
const TIMES = 2;

/** The code, in which pages beyond the bound are answered with -1. */
function boundCode(given: Uint8Array, global: number): Uint8Array {
  const code = Buffer.from(given.buffer, given.byteOffset, given.length);
  const parts: Uint8Array[] = [];
  let times = 0;
  let copied = 0;
  let asks = code.indexOf(ASKS);
  const [, first] = readNumber(code, 0);
  for (let at = first; asks >= 0 && at < code.length; ) {
    const [bytes, start] = readNumber(code, at);
    if (asks < start + bytes) {
      // Before it the number of pages is fetched from a local variable.
      const fetch = code.subarray(asks - FETCH_BYTES, asks);
      // pages + memory.size > global ? -1 : memory.grow(pages)
      const test = [0x3f, 0x00, 0x6a, 0x23, ...numberOf(global), 0x4b, 0x04, 0x7f, 0x41, 0x7f, 0x05];
      const bound = Buffer.from([...test, ...fetch, 0x40, 0x00, 0x0b]);
      const size = Buffer.from(numberOf(bytes + bound.length - GROW_BYTES));
      parts.push(code.subarray(copied, at), size, code.subarray(start, asks), bound);
      copied = asks + GROW_BYTES;
      asks = code.indexOf(ASKS, copied);
      times++;
    }
    at = start + bytes;
  }
  if (times !== TIMES) throw new Error(`the engine asks for memory at ${times} known places, not ${TIMES}`);
  return Buffer.concat([...parts, code.subarray(copied)]);
}

/** A list with one item more. */
function withItem(list: Uint8Array, item: readonly number[]): Uint8Array {
  const [count, first] = readNumber(list, 0);
  return Uint8Array.from([...numberOf(count + 1), ...list.subarray(first), ...item]);
}

/** Reads a number as wasm writes it. Returns it with the place behind it. */
function readNumber(bytes: Uint8Array, from: number): readonly [number, number] {
  let value = 0;
  for (let at = from, shift = 0; ; at++, shift += 7) {
    const byte = bytes[at] ?? 0;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return [value, at + 1];
  }
}

function numberOf(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...numberOf(value >>> 7)];
}
