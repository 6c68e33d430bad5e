import { type JSValueHandle, MAX_STACK_SIZE, QuickJS, type QuickJSOptions } from "quickjs-wasi";
import { type EngineImage, MachineFault } from "../engine.ts";
import { MOST_PAGES } from "./build.ts";

/** The host of a guest, as the engine sees it. */
export interface GuestHost {
  /** True if guest code is to end. */
  shouldStop(): boolean;
  rejected(promise: JSValueHandle, reason: JSValueHandle, isHandled: boolean): void;
  /** ms since the epoch. */
  now(): number;
}

/** A guest in an instance of the wasm that others may have had before. */
export interface PooledGuest {
  readonly vm: QuickJS;
  /** Ends the guest. @param isSound true if the instance may have another guest */
  leave(isSound: boolean): void;
}

/**
 * Instances of the wasm for guests from images. A new one costs more than a short cell: V8 makes it
 * in 0.3 ms, and only a collection of the thread's garbage frees its memory.
 *
 * Nothing but its linear memory, the stack pointer and the bound on its memory differs between two
 * instances: the wasm has no other global that changes, and writes to no table. A test compares.
 * All three are set for each guest; only memory that has grown cannot become less.
 */
export interface WasmPool {
  readonly wasm: WebAssembly.Module;
  take(image: EngineImage, host: GuestHost): Promise<PooledGuest>;
}

export function openWasmPool(wasm: WebAssembly.Module): WasmPool {
  let free: PooledInstance | undefined;
  return {
    wasm,
    async take(image, host) {
      const known = free;
      free = undefined;
      const pooled = known && bytesOf(known) <= image.memory.length ? known : await newInstance(wasm, image);
      const vm = enter(pooled, image, host);
      return {
        vm,
        leave(isSound) {
          vm.dispose();
          pooled.guest = undefined;
          if (isSound && bytesOf(pooled) <= FIRST_BYTES) free = pooled;
        },
      };
    },
  };
}

/** An instance of the wasm, and the guest that it has. */
interface PooledInstance {
  /** Holds the instance. No guest is entered by it: its handles would still work for the next one. */
  readonly owner: QuickJS;
  readonly options: QuickJSOptions;
  guest: { readonly vm: QuickJS; readonly host: GuestHost } | undefined;
}

async function newInstance(
  wasm: WebAssembly.Module,
  { memory: _memory, ...image }: EngineImage,
): Promise<PooledInstance> {
  const guest = () => {
    if (!pooled.guest) throw new MachineFault("the instance has no guest");
    return pooled.guest;
  };
  const options = optionsFor(wasm, {
    shouldStop: () => guest().host.shouldStop(),
    rejected: (...given) => guest().host.rejected(...given),
    now: () => guest().host.now(),
  });
  const owner = await QuickJS.restore({ ...image, memory: new Uint8Array(), extensions: [] }, options);
  const hostCall: Inner = Reflect.get(owner, "handleHostCall");
  // The imports of the wasm are bound to the object that made the instance.
  Reflect.set(owner, "handleHostCall", (...given: unknown[]) => Reflect.apply(hostCall, guest().vm, given));
  const pooled: PooledInstance = { owner, options, guest: undefined };
  return pooled;
}

/** The surroundings of every guest. */
export function optionsFor(wasm: WebAssembly.Module, host: GuestHost): QuickJSOptions {
  return {
    wasm,
    maxStackSize: MAX_STACK_SIZE,
    timezoneOffset: 0,
    interruptHandler: () => host.shouldStop(),
    onUnhandledRejection: (...given) => host.rejected(...given),
    wasi: (memory) => systemCalls(memory, host),
  };
}

/** Functions that the engine calls as its system. The guest can provoke each of these. */
function systemCalls(memory: WebAssembly.Memory, host: { now(): number }) {
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

/** A function of quickjs-wasi 3.6.2 that its types hide. */
type Inner = (...given: unknown[]) => unknown;

/** Gives the instance the guest of the image, whatever was in it. */
function enter(pooled: PooledInstance, image: EngineImage, host: GuestHost): QuickJS {
  const { owner, options } = pooled;
  const raw = owner._getExports();
  fill(raw.memory, image.memory);
  boundOf(raw).value = NO_BOUND;
  raw.qjs_set_runtime_and_context(image.runtimePtr, image.contextPtr);
  raw.__stack_pointer.value = image.stackPointer;
  const vm: QuickJS = Reflect.construct(QuickJS, [options.wasm]);
  const setInstance: Inner = Reflect.get(vm, "setInstance");
  Reflect.apply(setInstance, vm, [{ exports: raw }]);
  pooled.guest = { vm, host };
  const applyLimits: Inner = Reflect.get(QuickJS, "applyLimits");
  Reflect.apply(applyLimits, QuickJS, [vm, options]);
  return vm;
}

/** Pages of linear memory: all that there can be. */
const NO_BOUND = 65_536;

/** The pages that linear memory may have: see `boundMemory`. */
export function boundOf(raw: object): WebAssembly.Global {
  const bound: unknown = Reflect.get(raw, MOST_PAGES);
  if (bound instanceof WebAssembly.Global) return bound;
  throw new MachineFault("the engine has no bound on its memory");
}

const bytesOf = ({ owner }: PooledInstance) => owner._getExports().memory.buffer.byteLength;

/** Makes memory that is not larger equal to that of an image. Beyond the first bytes it must be new. */
function fill(own: WebAssembly.Memory, memory: Uint8Array): void {
  own.grow(Math.max(0, memory.length - own.buffer.byteLength) / BLOCK_BYTES);
  const into = new Uint8Array(own.buffer);
  into.set(memory.subarray(0, FIRST_BYTES));
  for (const block of nonZero(memory.subarray(FIRST_BYTES))) into.set(block, block.byteOffset - memory.byteOffset);
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
