import { JSException, type JSValueHandle, QuickJS } from "quickjs-wasi";
import { type EngineHost, type EngineImage, type Entered, MachineFault, type PreludeEntries } from "../engine.ts";
import { type GuestHost, optionsFor, type PooledGuest, type WasmPool } from "./wasm-pool.ts";

export type Entries = PreludeEntries<JSValueHandle>;

/**
 * An instance of the engine. The functions that enter its guest take it as their first argument.
 */
export interface Instance {
  readonly vm: QuickJS;
  /** The functions and the memory of the wasm module. */
  readonly raw: ReturnType<QuickJS["_getExports"]>;
  /** The prelude's functions; undefined until the prelude has run. */
  entries: Entries | undefined;
  /** True if `shouldStop` has ended guest code since the host last entered the guest. */
  stopped: boolean;
  /** False once `shouldStop` has ended guest code or something has escaped: no other guest gets the instance. */
  isSound: boolean;
  readonly leave: PooledGuest["leave"];
}

/**
 * Makes an instance whose prelude has not run yet, or, if an image is given, one with the guest of
 * the image.
 */
export async function openInstance(pool: WasmPool, host: EngineHost, image?: EngineImage): Promise<Instance> {
  let instance: Instance | undefined;
  const own: GuestHost = {
    now: host.now,
    shouldStop() {
      if (!host.shouldStop()) return false;
      if (instance) {
        instance.stopped = true;
        instance.isSound = false;
      }
      return true;
    },
    rejected(promise, reason, isHandled) {
      const opened = instance;
      if (!opened?.entries) return;
      const { rejected } = opened.entries;
      attempt(opened, () => call(opened, rejected, promise, reason, isHandled ? opened.vm.true : opened.vm.false));
    },
  };
  const { vm, leave } = image ? await pool.take(image, own) : await fresh(pool.wasm, own);
  instance = { vm, raw: vm._getExports(), entries: undefined, stopped: false, isSound: true, leave };
  return instance;
}

/** An instance whose guest is to be made. */
async function fresh(wasm: WebAssembly.Module, host: GuestHost): Promise<PooledGuest> {
  const vm = await QuickJS.create(optionsFor(wasm, host));
  return { vm, leave: () => vm.dispose() };
}

export function call({ vm }: Instance, fn: JSValueHandle, ...args: JSValueHandle[]): JSValueHandle {
  return vm.callFunction(fn, vm.undefined, ...args);
}

/** The prelude's functions. @throws MachineFault if the prelude has not run */
export function entriesOf({ entries }: Instance): Entries {
  if (!entries) throw new MachineFault("the prelude has not run");
  return entries;
}

/**
 * Runs guest code. A value that is not a string becomes an empty one, and an exception its
 * description.
 *
 * @throws MachineFault if anything else escapes
 */
export function attempt(instance: Instance, run: () => JSValueHandle): Entered {
  try {
    using value = run();
    return { ok: true, value: value.isString ? value.toString() : "" };
  } catch (error) {
    using exception = exceptionIn(instance, error);
    return { ok: false, failure: instance.stopped ? null : describe(instance, exception.handle) };
  }
}

/** The value that a guest threw. @throws MachineFault if a host function or the engine threw */
export function exceptionIn(instance: Instance, error: unknown): JSException {
  if (error instanceof JSException) return error;
  throw fault(instance, error);
}

/** Returns what the prelude says of the thrown value, or null if even that could not run. */
function describe(instance: Instance, thrown: JSValueHandle): string | null {
  try {
    using text = call(instance, entriesOf(instance).describe, thrown);
    return text.toString();
  } catch (error) {
    exceptionIn(instance, error).dispose();
    return null;
  }
}

/** The fault of what escaped from the engine, whose instance is corrupt. */
export function fault(instance: Instance, error: unknown): MachineFault {
  instance.isSound = false;
  if (error instanceof MachineFault) return error;
  return new MachineFault(error instanceof Error ? error.message : String(error), { cause: error });
}
