import type { Engine, EngineHost } from "../../runtime/engine.ts";
import { type Clock, imageFormat, systemClock } from "../../runtime/index.ts";
import { type Machine, openMachine } from "../../runtime/machine.ts";
import { keepWasmCode, quickJsBuild } from "../../runtime/quickjs/build.ts";
import { openQuickJs } from "../../runtime/quickjs/quickjs.ts";
import { openWasmPool } from "../../runtime/quickjs/wasm-pool.ts";
import { openLibrary } from "../../src/session/machine/services.ts";

export interface MachineHere extends Disposable {
  readonly machine: Machine;
  readonly engine: Engine;
  /** What the guest's posts reach. */
  readonly host: EngineHost;
  /** Names that cells may not declare. */
  readonly reserved: ReadonlySet<string>;
}

/** A machine in the thread of the test itself, which nothing watches. */
export async function openMachineHere(clock: Clock = systemClock): Promise<MachineHere> {
  keepWasmCode();
  const { module } = quickJsBuild();
  const library = openLibrary();
  let parts: Pick<MachineHere, "engine" | "host"> | undefined;
  const machine = await openMachine({
    ...{ library, memoryBytes: 2 ** 27, clock, format: imageFormat(), prelude: null, notice() {}, printed() {} },
    shared: new Int32Array(new SharedArrayBuffer(64)),
    async openEngine(options) {
      parts = { engine: await openQuickJs(openWasmPool(module), options), host: options.host };
      return parts.engine;
    },
  });
  if (!parts) throw new Error("the machine has opened no engine");
  return { machine, ...parts, reserved: library.reserved, [Symbol.dispose]: () => machine[Symbol.dispose]() };
}
