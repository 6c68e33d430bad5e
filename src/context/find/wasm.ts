import type { Hir, Match } from "rregex";

/** UTF-8 in parts that are searched as one text; each ends on a character boundary. */
export type Haystack = readonly Uint8Array[];

/** One WebAssembly instance of Rust's regex crate. */
export interface Engine {
  /** Throws a plain Error if Rust refuses the pattern. */
  compile(source: string): Compiled;
  /** All matches, in bytes. The whole list is kept: mind the number. */
  findAll(regex: Compiled, haystack: Haystack): readonly Place[];
  /** The first match at or after a byte offset; what precedes the offset is seen by assertions. */
  findFrom(regex: Compiled, haystack: Haystack, byte: number): Place | undefined;
  /** Size of the instance's memory. It never shrinks. */
  bytes(): number;
}

/** A match, in bytes, without its text. */
export type Place = Pick<Match, "start" | "end">;

export interface Compiled {
  readonly pointer: number;
  syntax(): Hir;
  free(): void;
}

/**
 * Functions of rregex 1.13.1 under its published ones. Those take strings, which they copy
 * character by character, and leak if a character is not ASCII; these take UTF-8 where it lies.
 * They are not promised to anyone: hence the exact version in package.json, and `expectSearch`.
 */
export interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly __wbindgen_export_2: WebAssembly.Table;
  readonly __externref_table_dealloc: (index: number) => void;
  readonly __wbindgen_malloc: (bytes: number, align: number) => number;
  readonly __wbindgen_start: () => void;
  /** This one and the next two free the text. */
  readonly rregex_new: (source: number, bytes: number) => Answer;
  readonly rregex_findAll: (regex: number, text: number, bytes: number) => Answer;
  readonly rregex_findAt: (regex: number, text: number, bytes: number, start: number) => Answer;
  readonly rregex_syntax: (regex: number) => Answer;
  readonly __wbg_rregex_free: (regex: number, unused: number) => void;
}

/**
 * A number or an index into the table of JavaScript values, and the index of an error, which is valid
 * if the third number is not 0.
 */
type Answer = readonly [result: number, error: number, failed: number];

/** Functions that the instance calls, instead of those with which the package reads its own instance. */
interface Imports {
  readonly __wbindgen_string_new: (at: number, bytes: number) => string;
  readonly __wbindgen_error_new: (at: number, bytes: number) => Error;
  readonly __wbindgen_throw: (at: number, bytes: number) => never;
  readonly __wbindgen_memory: () => WebAssembly.Memory;
  readonly __wbindgen_init_externref_table: () => void;
}

/**
 * Makes an instance, and throws an Error if it is not the pinned one.
 *
 * @param instantiate gives the exports of a new instance
 */
export function openEngine(instantiate: (imports: Imports) => Exports): Engine {
  /** The haystack of the search that runs. */
  let searched = { at: 0, end: 0 };
  let wasm: Exports;
  const textOf = (at: number, bytes: number) => Buffer.from(wasm.memory.buffer, at, bytes).toString();
  try {
    wasm = instantiate({
      // Each match comes with its text, which is not needed.
      __wbindgen_string_new: (at, bytes) => (at >= searched.at && at < searched.end ? "" : textOf(at, bytes)),
      __wbindgen_error_new: (at, bytes) => new Error(textOf(at, bytes)),
      __wbindgen_throw(at, bytes) {
        throw new Error(textOf(at, bytes));
      },
      __wbindgen_memory: () => wasm.memory,
      __wbindgen_init_externref_table: () => keepConstants(wasm.__wbindgen_export_2),
    });
    wasm.__wbindgen_start();
  } catch (cause) {
    throw new Error(NOT_PINNED, { cause });
  }
  const engine = { compile, findAll, findFrom, bytes: () => wasm.memory.buffer.byteLength };
  expectSearch(engine);
  return engine;

  function compile(source: string): Compiled {
    const { at, bytes } = write([Buffer.from(source)]);
    const [pointer, error, failed] = wasm.rregex_new(at, bytes);
    if (failed !== 0) throw take(error);
    return {
      pointer,
      syntax: () => result(wasm.rregex_syntax(pointer)),
      free: () => wasm.__wbg_rregex_free(pointer, 0),
    };
  }

  function findAll({ pointer }: Compiled, haystack: Haystack): readonly Place[] {
    const { at, bytes } = write(haystack);
    searched = { at, end: at + bytes };
    return result(wasm.rregex_findAll(pointer, at, bytes));
  }

  function findFrom({ pointer }: Compiled, haystack: Haystack, byte: number): Place | undefined {
    const { at, bytes } = write(haystack);
    searched = { at, end: at + bytes };
    return result(wasm.rregex_findAt(pointer, at, bytes, byte));
  }

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

  function result([value, error, failed]: Answer) {
    searched = { at: 0, end: 0 };
    if (failed !== 0) throw take(error);
    return take(value);
  }

  function take(index: number) {
    const value = wasm.__wbindgen_export_2.get(index);
    wasm.__externref_table_dealloc(index);
    return value;
  }
}

/** Writes what the instance expects in the table: undefined at its begin, and four constants at its end. */
function keepConstants(table: WebAssembly.Table): void {
  const constants = [undefined, null, true, false];
  const first = table.grow(constants.length);
  table.set(0, undefined);
  for (const [n, constant] of constants.entries()) table.set(first + n, constant);
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
