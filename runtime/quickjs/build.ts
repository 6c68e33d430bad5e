import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { boundMemory } from "./bounded.ts";

/** The engine, compiled. It is handed to each thread. */
export interface QuickJsBuild {
  readonly module: WebAssembly.Module;
  /** SHA-256 of the wasm file as it was published, hex: the bound on its memory changes no image. */
  readonly sha256: string;
}

let build: Promise<QuickJsBuild> | undefined;

/** Compiles the engine once per process. */
export function quickJsBuild(): Promise<QuickJsBuild> {
  build ??= compiled();
  return build;
}

async function compiled(): Promise<QuickJsBuild> {
  // A read without turns of the event loop in between takes a tenth of the time, and threads wait for it.
  const wasm = readFileSync(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
  const sha256 = createHash("sha256").update(wasm).digest("hex");
  return { module: await WebAssembly.compile(boundMemory(wasm)), sha256 };
}
