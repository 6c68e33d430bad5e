import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Hir } from "rregex";
import { recent } from "./recent.ts";
import { type Compiled, type Engine, type Exports, type Haystack, openEngine, type Place } from "./wasm.ts";

/**
 * The allocator inside rregex 1.13 gives little back: half a megabyte stays behind for each
 * compiled `\w`, and some bytes for each match. So its WebAssembly instance is thrown away at this
 * size.
 */
const RETIRE_BYTES = 16 * 1024 * 1024;
const COMPILED = 20;

/** An instance of the engine, with the patterns that it has compiled. */
interface Generation {
  readonly engine: Engine;
  readonly compiled: (source: string) => Compiled;
}

let current: Generation | undefined;

/** All matches of a Rust pattern, in bytes. The whole list is kept: mind the number. */
export function findAll(source: string, haystack: Haystack): readonly Place[] {
  return call(source, (regex, engine) => engine.findAll(regex, haystack));
}

/** The first match at or after a byte offset; what precedes the offset is seen by assertions. */
export function findFrom(source: string, haystack: Haystack, byte: number): Place | undefined {
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

function startGeneration(): Generation {
  const engine = openEngine(instantiate);
  return { engine, compiled: recent(COMPILED, engine.compile, (regex) => regex.free()) };
}

/** The package as it is loaded at once, and its compiled WebAssembly. */
interface Package {
  /** Functions that an instance calls, among others. */
  readonly functions: WebAssembly.ModuleImports;
  readonly module: WebAssembly.Module;
}

let loaded: Package | undefined;

/** Makes an instance of the package's WebAssembly. */
export function instantiate(own: object): Exports {
  loaded ??= loadPackage();
  const { exports } = new WebAssembly.Instance(loaded.module, { wbg: { ...loaded.functions, ...own } });
  if (isOfEngine(exports)) return exports;
  throw new Error("the WebAssembly of rregex has other exports");
}

/** Loads the CommonJS build, because it loads synchronously. */
function loadPackage(): Package {
  const require = createRequire(import.meta.url);
  const path = require.resolve("rregex");
  const module = new WebAssembly.Module(readFileSync(join(dirname(path), "rregex.wasm")));
  return { functions: require(path), module };
}

const isOfEngine = (exports: object): exports is Exports => "rregex_findAll" in exports && "rregex_findAt" in exports;
