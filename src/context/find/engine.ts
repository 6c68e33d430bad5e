import { createRequire } from "node:module";
import type { Hir, Match } from "rregex";
import { recent } from "./recent.ts";
import { type Compiled, type Engine, type Haystack, openEngine } from "./wasm.ts";

/**
 * The allocator inside rregex 1.13 gives little back: half a megabyte stays behind for each
 * compiled `\w`, and a copy of each match. So its WebAssembly instance is thrown away at this size.
 */
const RETIRE_BYTES = 16 * 1024 * 1024;
const COMPILED = 20;

/** An instance of the engine, with the patterns that it has compiled. */
interface Generation {
  readonly engine: Engine;
  readonly compiled: (source: string) => Compiled;
}

let current: Generation | undefined;

/**
 * All matches of a Rust pattern, in bytes. The whole list is kept, with a copy of each match: mind
 * the number.
 */
export function findAll(source: string, haystack: Haystack): readonly Match[] {
  return call(source, (regex, engine) => engine.findAll(regex, haystack));
}

/** The first match at or after a byte offset; what precedes the offset is seen by assertions. */
export function findFrom(source: string, haystack: Haystack, byte: number): Match | undefined {
  return call(source, (regex, engine) => engine.findFrom(regex, haystack, byte));
}

/** The syntax tree of a Rust pattern. Throws the engine's Error if it is refused or too large. */
export function parse(source: string): Hir {
  return call(source, (regex) => regex.syntax());
}

/**
 * Runs the engine. A refusal is a plain Error. Anything else (a trap, a text for which there is no
 * memory) leaves the instance in an unknown state, so it is not used again.
 */
function call<Result>(source: string, use: (regex: Compiled, engine: Engine) => Result): Result {
  current ??= startGeneration();
  const { compiled, engine } = current;
  try {
    return use(compiled(source), engine);
  } catch (error) {
    if (!(error instanceof Error && error.name === "Error")) current = undefined;
    throw error;
  } finally {
    if (engine.bytes() > RETIRE_BYTES) current = undefined;
  }
}

/**
 * The CommonJS build, because it loads synchronously and, with a new `require` each time, can be
 * garbage collected.
 */
function startGeneration(): Generation {
  const require = createRequire(import.meta.url);
  const path = require.resolve("rregex");
  delete require.cache[path];
  const engine = openEngine(require(path));
  delete require.cache[path];
  return { engine, compiled: recent(COMPILED, engine.compile, (regex) => regex.free()) };
}
