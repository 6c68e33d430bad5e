import { JSException, type JSValueHandle, MAX_STACK_SIZE, QuickJS, type QuickJSOptions } from "quickjs-wasi";
import { type EngineHost, type EngineImage, type Entered, MachineFault, type PreludeEntries } from "../engine.ts";

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
}

/**
 * Makes an instance whose prelude has not run yet, or, if an image is given, one with the guest of
 * the image.
 */
export async function openInstance(wasm: WebAssembly.Module, host: EngineHost, image?: EngineImage): Promise<Instance> {
  let instance: Instance | undefined;
  const options: QuickJSOptions = {
    wasm,
    maxStackSize: MAX_STACK_SIZE,
    timezoneOffset: 0,
    interruptHandler: () => {
      if (!host.shouldStop()) return false;
      if (instance) instance.stopped = true;
      return true;
    },
    onUnhandledRejection: (promise, reason, isHandled) => {
      const opened = instance;
      if (!opened?.entries) return;
      const { rejected } = opened.entries;
      attempt(opened, () => call(opened, rejected, promise, reason, isHandled ? opened.vm.true : opened.vm.false));
    },
    wasi: (memory) => systemCalls(memory, host),
  };
  const vm = image ? await restored(image, options) : await QuickJS.create(options);
  instance = { vm, raw: vm._getExports(), entries: undefined, stopped: false };
  return instance;
}

async function restored({ memory, ...image }: EngineImage, options: QuickJSOptions): Promise<QuickJS> {
  const vm = await QuickJS.restore({ ...image, memory: memory.subarray(0, FIRST_BYTES), extensions: [] }, options);
  const { memory: own } = vm._getExports();
  own.grow(Math.max(0, memory.length - own.buffer.byteLength) / BLOCK_BYTES);
  const into = new Uint8Array(own.buffer);
  for (const block of nonZero(memory.subarray(FIRST_BYTES))) into.set(block, block.byteOffset - memory.byteOffset);
  return vm;
}

/** The part of memory that a fresh guest has, with the engine's own structures. */
const FIRST_BYTES = 2 * 2 ** 20;

/**
 * The blocks that are not zero. Memory that nobody has written to takes none of the computer's: to
 * write zeros there would take it.
 */
export function* nonZero(memory: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < memory.length; at += BLOCK_BYTES) {
    const block = memory.subarray(at, at + BLOCK_BYTES);
    if (ZEROS.compare(block, 0, block.length, 0, block.length) !== 0) yield block;
  }
}

/** Linear memory grows by it. */
const BLOCK_BYTES = 65_536;
const ZEROS = Buffer.alloc(BLOCK_BYTES);

/** Functions that the engine calls as its system. The guest can provoke each of these. */
function systemCalls(memory: WebAssembly.Memory, host: EngineHost) {
  return {
    clock_time_get(_clock: number, _precision: bigint, out: number) {
      new DataView(memory.buffer).setBigUint64(out, BigInt(Math.round(host.now() * 1e6)), true);
      return 0;
    },
    // The C library's guard against overwritten stacks takes four bytes: if they were random, no
    // two guests would be equal.
    random_get(out: number, length: number) {
      new Uint8Array(memory.buffer, out, length).fill(0x5a);
      return 0;
    },
    // The engine's own logging is dropped: it does not belong on the process's stdout.
    fd_write(_fd: number, vectors: number, count: number, written: number) {
      const view = new DataView(memory.buffer);
      let total = 0;
      for (let i = 0; i < count; i++) total += view.getUint32(vectors + i * 8 + 4, true);
      view.setUint32(written, total, true);
      return 0;
    },
  };
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
    using exception = exceptionIn(error);
    return { ok: false, failure: instance.stopped ? null : describe(instance, exception.handle) };
  }
}

/** The value that a guest threw. @throws MachineFault if a host function or the engine threw */
export function exceptionIn(error: unknown): JSException {
  if (error instanceof JSException) return error;
  throw fault(error);
}

/** Returns what the prelude says of the thrown value, or null if even that could not run. */
function describe(instance: Instance, thrown: JSValueHandle): string | null {
  try {
    using text = call(instance, entriesOf(instance).describe, thrown);
    return text.toString();
  } catch (error) {
    exceptionIn(error).dispose();
    return null;
  }
}

export function fault(error: unknown): MachineFault {
  if (error instanceof MachineFault) return error;
  return new MachineFault(error instanceof Error ? error.message : String(error), { cause: error });
}
