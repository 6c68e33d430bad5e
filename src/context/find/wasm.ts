import type { Hir, Match } from "rregex";

/** UTF-8 in parts that are searched as one text; each ends on a character boundary. */
export type Haystack = readonly Uint8Array[];

/** One WebAssembly instance of Rust's regex crate. */
export interface Engine {
  /** Throws a plain Error if Rust refuses the pattern. */
  compile(source: string): Compiled;
  /** All matches, in bytes. The whole list is kept, with a copy of each match: mind the number. */
  findAll(regex: Compiled, haystack: Haystack): readonly Match[];
  /** The first match at or after a byte offset; what precedes the offset is seen by assertions. */
  findFrom(regex: Compiled, haystack: Haystack, byte: number): Match | undefined;
  /** Size of the instance's memory. It never shrinks. */
  bytes(): number;
}

export interface Compiled {
  readonly __wbg_ptr: number;
  syntax(): Hir;
  free(): void;
}

/**
 * Functions of rregex 1.13.1 under its published ones. Those take strings, which they copy
 * character by character, and leak if a character is not ASCII; these take UTF-8 where it lies.
 * They are not promised to anyone: hence the exact version in package.json, and `expectSearch`.
 */
interface Binding {
  readonly RRegex: new (source: string) => Compiled;
  readonly __wasm: {
    readonly memory: WebAssembly.Memory;
    readonly __wbindgen_export_2: WebAssembly.Table;
    readonly __externref_table_dealloc: (index: number) => void;
    readonly __wbindgen_malloc: (bytes: number, align: number) => number;
    /** These two free the text. */
    readonly rregex_findAll: (regex: number, text: number, bytes: number) => Answer;
    readonly rregex_findAt: (regex: number, text: number, bytes: number, start: number) => Answer;
  };
}

/**
 * Indices into the table of JavaScript values; the second one is valid if the third number is not
 * 0.
 */
type Answer = readonly [result: number, error: number, failed: number];

/** Throws an Error if the binding is not the pinned one. */
export function openEngine({ RRegex, __wasm: wasm }: Binding): Engine {
  const engine = {
    compile: (source: string) => new RRegex(source),
    findAll(regex: Compiled, haystack: Haystack): readonly Match[] {
      const { at, bytes } = write(haystack);
      return take(wasm.rregex_findAll(regex.__wbg_ptr, at, bytes));
    },
    findFrom(regex: Compiled, haystack: Haystack, byte: number): Match | undefined {
      const { at, bytes } = write(haystack);
      return take(wasm.rregex_findAt(regex.__wbg_ptr, at, bytes, byte));
    },
    bytes: () => wasm.memory.buffer.byteLength,
  };
  expectSearch(engine);
  return engine;

  function write(haystack: Haystack): { at: number; bytes: number } {
    const bytes = haystack.reduce((sum, part) => sum + part.length, 0);
    const at = wasm.__wbindgen_malloc(bytes, 1) >>> 0;
    const block = new Uint8Array(wasm.memory.buffer, at, bytes);
    let end = 0;
    for (const part of haystack) {
      block.set(part, end);
      end += part.length;
    }
    return { at, bytes };
  }

  function take([result, error, failed]: Answer) {
    const index = failed === 0 ? result : error;
    const value = wasm.__wbindgen_export_2.get(index);
    wasm.__externref_table_dealloc(index);
    if (failed !== 0) throw value;
    return value;
  }
}

/**
 * Another version may lack an export, or give the same name another meaning: then no search is to
 * be trusted.
 */
function expectSearch(engine: Engine): void {
  const haystack = ["é", "ab", "é"].map((part) => Buffer.from(part));
  let seen: unknown;
  try {
    const regex = engine.compile("bé|é");
    const all = engine.findAll(regex, haystack).map(({ start, end }) => [start, end]);
    const second = engine.findFrom(regex, haystack, 2);
    seen = JSON.stringify([all, second?.start, second?.end, engine.findFrom(regex, haystack, 6) ?? null]);
    regex.free();
  } catch (cause) {
    throw new Error(NOT_PINNED, { cause });
  }
  if (seen !== "[[[0,2],[3,6]],3,6,null]") throw new Error(NOT_PINNED, { cause: seen });
}

const NOT_PINNED = "the installed rregex is not the pinned 1.13.1: it cannot search UTF-8 in its own memory";
