import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { boundMemory } from "./bounded.ts";

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
 */
export function quickJsBuild(): Build {
  build ??= compiled();
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

function compiled(): Build {
  const wasm = readFileSync(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
  const sha256 = createHash("sha256").update(wasm).digest("hex");
  return { module: new WebAssembly.Module(boundMemory(wasm)), sha256 };
}

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
