import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { boundMemory } from "./bounded.ts";

/** The engine, compiled. It is handed to each thread. */
export interface QuickJsBuild {
  readonly module: WebAssembly.Module;
  /** SHA-256 of the wasm file as it was published, hex: the bound on its memory changes no image. */
  readonly sha256: string;
}

let build: QuickJsBuild | undefined;

/**
 * Compiles the engine once per process. It takes some ms, since V8 compiles functions when they are called; a thread that waited for
 * other turns of the event loop would begin much later.
 */
export function quickJsBuild(): QuickJsBuild {
  build ??= compiled();
  return build;
}

function compiled(): QuickJsBuild {
  const wasm = readFileSync(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
  const sha256 = createHash("sha256").update(wasm).digest("hex");
  return { module: new WebAssembly.Module(boundMemory(wasm)), sha256 };
}
