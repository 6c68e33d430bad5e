import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";

/** The engine, compiled. It is handed to each thread. */
export interface QuickJsBuild {
  readonly module: WebAssembly.Module;
  /** SHA-256 of the wasm file, hex. */
  readonly sha256: string;
}

let build: Promise<QuickJsBuild> | undefined;

/** Compiles the engine once per process. */
export function quickJsBuild(): Promise<QuickJsBuild> {
  build ??= readFile(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm"))).then(async (wasm) => ({
    module: await WebAssembly.compile(wasm),
    sha256: createHash("sha256").update(wasm).digest("hex"),
  }));
  return build;
}
