import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { EvalFlags, JSException, JSValueHandle, MAX_STACK_SIZE, QuickJS, type QuickJSOptions } from "quickjs-wasi";
import {
  type Engine,
  type EngineImage,
  type EngineOptions,
  type Entered,
  MachineFault,
  type PreludeEntries,
  type PreludeEntry,
} from "./engine.ts";
import { openStrings } from "./quickjs-strings.ts";

/** The engine, compiled: handed to each worker. */
export interface QuickJsBuild {
  readonly module: WebAssembly.Module;
  /** Of the wasm file, hex. */
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

/** Opens a guest on quickjs-wasi. The only file that touches the package. */
export async function openQuickJs(wasm: WebAssembly.Module, options: EngineOptions): Promise<Engine> {
  const { host } = options;
  let stopped = false;
  let entries: Entries | undefined;
  const vmOptions: QuickJSOptions = {
    wasm,
    maxStackSize: MAX_STACK_SIZE,
    timezoneOffset: 0,
    interruptHandler: () => {
      if (!host.shouldStop()) return false;
      stopped = true;
      return true;
    },
    onUnhandledRejection: (promise, reason, isHandled) => {
      const listener = entries?.rejected;
      if (listener) attempt(() => call(listener, promise, reason, isHandled ? vm.true : vm.false));
    },
    wasi: (memory) => ({
      clock_time_get(_clock: number, _precision: bigint, out: number) {
        new DataView(memory.buffer).setBigUint64(out, BigInt(Math.round(host.now() * 1e6)), true);
        return 0;
      },
      // The C library's guard against overwritten stacks takes four bytes: with others each time no two guests would be equal.
      random_get(out: number, length: number) {
        new Uint8Array(memory.buffer, out, length).fill(0x5a);
        return 0;
      },
      // The engine's own logging: a guest can provoke it, and nothing of it belongs on the process's stdout.
      fd_write(_fd: number, vectors: number, count: number, written: number) {
        const view = new DataView(memory.buffer);
        let total = 0;
        for (let i = 0; i < count; i++) total += view.getUint32(vectors + i * 8 + 4, true);
        view.setUint32(written, total, true);
        return 0;
      },
    }),
  };
  const { image, texts = [] } = options;
  const vm = image ? await QuickJS.restore({ ...image, extensions: [] }, vmOptions) : await QuickJS.create(vmOptions);
  const raw = vm._getExports();

  // The engine duplicates what a callback returns, so a reply is ours to free, and only once the call has returned.
  let lastReply: JSValueHandle | undefined;
  function post(kind?: JSValueHandle, name?: JSValueHandle, payload?: JSValueHandle): JSValueHandle {
    const reply = host.post(textOf(kind), textOf(name), textOf(payload));
    lastReply?.dispose();
    lastReply = undefined;
    lastReply =
      typeof reply === "string" ? vm.newString(reply) : host.placing(reply, () => strings.place(textOf(name), reply));
    return lastReply;
  }

  function textOf(handle: JSValueHandle | undefined): string {
    return handle?.isString ? handle.toString() : "";
  }

  /** Runs guest code; an exception becomes its description, anything else that escapes is a fault of the instance. */
  function attempt(run: () => JSValueHandle): Entered {
    try {
      const value = run();
      const text = value.isString ? value.toString() : "";
      value.dispose();
      return { ok: true, value: text };
    } catch (error) {
      if (!(error instanceof JSException)) throw fault(error);
      const failure = stopped ? null : describe(error.handle);
      error.dispose();
      return { ok: false, failure };
    }
  }

  function describe(thrown: JSValueHandle): string | null {
    try {
      const text = call(entry.describe, thrown);
      const json = text.toString();
      text.dispose();
      return json;
    } catch (error) {
      if (!(error instanceof JSException)) throw fault(error);
      error.dispose();
      return null;
    }
  }

  const call = (fn: JSValueHandle, ...args: JSValueHandle[]) => vm.callFunction(fn, vm.undefined, ...args);

  /** Runs the prelude of a new guest. */
  function boot(): Entries {
    const prelude = vm.evalCode(options.prelude, "<prelude>");
    const config = vm.newString(options.config);
    const made = call(prelude, vm.newFunction("post", post), config);
    for (const handle of [prelude, config]) handle.dispose();
    return eachEntry((name) => made.getProp(name), made.getProp("builtins"));
  }

  /** Finds the prelude's functions again in a guest that was made from an image: the handles of the image, not new ones. */
  function reopen({ entries: tokens }: EngineImage): Entries {
    vm.registerHostCallback("post", post);
    const handle = (token: number) => new JSValueHandle(vm, token);
    return eachEntry(
      (name) => handle(tokens[name]),
      tokens.builtins === undefined ? undefined : handle(tokens.builtins),
    );
  }

  const strings = openStrings<JSValueHandle>({
    memory: () => raw.memory.buffer,
    newString: (text) => vm.newString(text),
    addressOf: ({ ptr }) => raw.qjs_get_value_ptr(ptr),
    blank(units, wide) {
      const count = vm.newNumber(units);
      try {
        return call(entry.blank, count, wide ? vm.true : vm.false);
      } finally {
        count.dispose();
      }
    },
  });
  let entry = image ? reopen(image) : boot();
  entries = entry;
  for (const { place, text } of texts) strings.writeBack(place, text);

  /** Runs a cell up to its first wait; its end is posted. */
  function start(cell: () => JSValueHandle): void {
    stopped = false;
    try {
      const promise = cell();
      // The engine's own subscription: a guest may have patched Promise.prototype.
      vm.promiseThenRaw(promise, entry.finish, entry.failed).dispose();
      promise.dispose();
    } catch (error) {
      if (!(error instanceof JSException)) throw fault(error);
      if (!stopped) attempt(() => call(entry.failed, error.handle));
      error.dispose();
    }
  }

  return {
    startCell: (source, filename) => start(() => vm.evalCode(source, filename, EvalFlags.ASYNC)),
    startOwnCell: (source, filename) =>
      start(() => {
        const cell = vm.evalCode(source, filename);
        try {
          return call(cell, entry.builtins ?? vm.global);
        } finally {
          cell.dispose();
        }
      }),
    extend(source, config) {
      stopped = false;
      return attempt(() => {
        vm.unregisterHostCallback("post");
        const handles = [
          vm.evalCode(source, "<extension>"),
          vm.newFunction("post", post),
          vm.newString(config),
        ] as const;
        try {
          const builtins = call(...handles, entry.builtins ?? vm.undefined);
          if (entry.builtins) builtins.dispose();
          else entry = { ...entry, builtins };
          return vm.undefined;
        } finally {
          for (const handle of handles) handle.dispose();
        }
      });
    },
    runPreamble(source, filename) {
      stopped = false;
      return attempt(() => {
        const names = vm.evalCode(source, filename);
        const done = call(entry.inject, names);
        names.dispose();
        return done;
      });
    },
    compile(source, filename) {
      return attempt(() => vm.evalCode(source, filename, EvalFlags.COMPILE_ONLY));
    },
    enter(name, payload) {
      stopped = false;
      return attempt(() => {
        const nameText = vm.newString(name);
        const payloadText = vm.newString(payload);
        try {
          return call(entry.enter, nameText, payloadText);
        } finally {
          nameText.dispose();
          payloadText.dispose();
        }
      });
    },
    runJob() {
      stopped = false;
      try {
        if (raw.qjs_is_job_pending() === 0) return "empty";
        if (raw.qjs_execute_pending_job() < 0) vm.getException().dispose();
        return stopped ? "stopped" : "ran";
      } catch (error) {
        throw fault(error);
      }
    },
    setMemoryLimit: (bytes) => raw.qjs_set_memory_limit(bytes),
    heapBytes: () => vm.getMemoryUsage().mallocSize,
    image() {
      // In an image it would hold its value for ever.
      lastReply?.dispose();
      lastReply = undefined;
      return {
        memory: new Uint8Array(raw.memory.buffer),
        stackPointer: Number(raw.__stack_pointer.value),
        runtimePtr: raw.qjs_get_runtime_ptr(),
        contextPtr: raw.qjs_get_context_ptr(),
        entries: eachEntry((name) => entry[name].ptr, entry.builtins?.ptr),
      };
    },
    hasJob: () => raw.qjs_is_job_pending() !== 0,
    texts: strings.places,
    releaseText: strings.release,
    [Symbol.dispose]: () => vm.dispose(),
  };
}

type Entries = PreludeEntries<JSValueHandle>;

function eachEntry<T>(make: (name: PreludeEntry) => T, builtins: T | undefined): PreludeEntries<T> {
  return {
    enter: make("enter"),
    finish: make("finish"),
    failed: make("failed"),
    describe: make("describe"),
    inject: make("inject"),
    rejected: make("rejected"),
    blank: make("blank"),
    ...(builtins === undefined ? {} : { builtins }),
  };
}

function fault(error: unknown): MachineFault {
  if (error instanceof MachineFault) return error;
  return new MachineFault(error instanceof Error ? error.message : String(error), { cause: error });
}
