import { createRequire } from "node:module";
import type { Hir, Match, RRegex } from "rregex";
import { recent } from "./find-cache.ts";

interface Binding {
  readonly RRegex: new (source: string) => RRegex;
  readonly __wasm: { readonly memory: { readonly buffer: ArrayBufferLike } };
}

interface Generation {
  compiled(source: string): RRegex;
  bytes(): number;
}

/**
 * The allocator inside rregex 1.13 gives little back: half a megabyte stays behind for each compiled `\w`, and the
 * text of a call that is not ASCII up to four times over. So its WebAssembly instance is thrown away at this size.
 */
const RETIRE_BYTES = 64 * 1024 * 1024;
const COMPILED = 20;

let current: Generation | undefined;

/** All matches of a Rust pattern, in bytes of the UTF-8 of `text`. The whole of it is kept: mind the number. */
export function findAll(source: string, text: string): readonly Match[] {
  return call(source, (regex) => regex.findAll(text));
}

/** The first match at or after a byte offset; what precedes the offset is seen by assertions. */
export function findFrom(source: string, text: string, byte: number): Match | undefined {
  return call(source, (regex) => regex.findAt(text, byte));
}

/** The syntax tree of a Rust pattern. Throws the engine's Error where it is refused or too large. */
export function parse(source: string): Hir {
  return call(source, (regex) => regex.syntax());
}

/** A trap leaves the instance in an unknown state, so it is not used again. */
function call<Result>(source: string, use: (regex: RRegex) => Result): Result {
  current ??= startGeneration();
  const { compiled, bytes } = current;
  try {
    return use(compiled(source));
  } catch (error) {
    if (error instanceof Error && error.name === "RuntimeError") current = undefined;
    throw error;
  } finally {
    if (bytes() > RETIRE_BYTES) current = undefined;
  }
}

/** The CommonJS build, because it loads synchronously and, with a new `require` each time, can be garbage collected. */
function startGeneration(): Generation {
  const require = createRequire(import.meta.url);
  const path = require.resolve("rregex");
  delete require.cache[path];
  const binding: Binding = require(path);
  delete require.cache[path];
  return {
    compiled: recent(
      COMPILED,
      (source) => new binding.RRegex(source),
      (regex) => regex.free(),
    ),
    bytes: () => binding.__wasm.memory.buffer.byteLength,
  };
}
