import { EvalFlags, JSValueHandle } from "quickjs-wasi";
import {
  type Engine,
  type EngineHost,
  type EngineImage,
  type EngineOptions,
  type EnginePlace,
  type HostText,
  MachineFault,
  type Prelude,
  type PreludeEntries,
  type PreludeEntry,
} from "../engine.ts";
import { PAGE_BYTES } from "../images/image.ts";
import { attempt, call, type Entries, entriesOf, exceptionIn, fault, type Instance, openInstance } from "./instance.ts";
import { boundOf, nonZero, type WasmPool } from "./wasm-pool.ts";

/** Opens a guest on quickjs-wasi. Only this folder knows the package. */
export async function openQuickJs(pool: WasmPool, options: EngineOptions): Promise<Engine> {
  const { host, image, texts = [] } = options;
  const instance = await openInstance(pool, host, image);
  const strings = openStrings(instance);
  const { post, forgetReply } = openGuestPost(instance, host, strings);
  instance.entries = image ? findPrelude(instance, post, image) : runPrelude(instance, post, options.prelude());
  for (const { place, text } of texts) strings.writeBack(place, text);
  const { vm, raw } = instance;
  const mostPages = boundOf(raw);
  return {
    ...openGuestCode(instance, post),
    runJob: () => runJob(instance),
    hasJob: () => raw.qjs_is_job_pending() !== 0,
    setMemoryLimit(heapBytes = 0, linearBytes = 2 ** 32) {
      raw.qjs_set_memory_limit(heapBytes);
      mostPages.value = Math.ceil(linearBytes / WASM_PAGE_BYTES);
    },
    clearFree: () => clearFree(raw, mostPages),
    linearBytes: () => raw.memory.buffer.byteLength,
    heapBytes: () => vm.getMemoryUsage().mallocSize,
    image() {
      forgetReply();
      return {
        memory: new Uint8Array(raw.memory.buffer),
        stackPointer: Number(raw.__stack_pointer.value),
        runtimePtr: raw.qjs_get_runtime_ptr(),
        contextPtr: raw.qjs_get_context_ptr(),
        entries: placesOf(entriesOf(instance)),
      };
    },
    texts: strings.places,
    releaseText: strings.release,
    [Symbol.dispose]: () => instance.leave(instance.isSound),
  };
}

const WASM_PAGE_BYTES = 65_536;

/**
 * Takes all that is free in large blocks, and gives it back as zeros. Linear memory does not grow
 * meanwhile.
 */
function clearFree(raw: Instance["raw"], mostPages: WebAssembly.Global): void {
  const most = mostPages.value;
  mostPages.value = 0;
  const taken: number[] = [];
  for (let bytes = LARGEST_FREE; bytes >= LEAST_FREE; ) {
    const at = raw.wasm_malloc(bytes);
    if (at === 0) bytes /= 2;
    else {
      for (const block of nonZero(new Uint8Array(raw.memory.buffer, at, bytes))) block.fill(0);
      taken.push(at);
    }
  }
  for (const at of taken) raw.wasm_free(at);
  mostPages.value = most;
}

const LARGEST_FREE = 2 ** 30;
const LEAST_FREE = 16 * 1024;

function runJob(instance: Instance): "ran" | "empty" | "stopped" {
  const { raw, vm } = instance;
  instance.stopped = false;
  try {
    if (raw.qjs_is_job_pending() === 0) return "empty";
    if (raw.qjs_execute_pending_job() < 0) vm.getException().dispose();
    return instance.stopped ? "stopped" : "ran";
  } catch (error) {
    throw fault(instance, error);
  }
}

/** Runs the prelude of a new guest. */
function runPrelude(instance: Instance, post: PostFunction, { source, config }: Prelude): Entries {
  const { vm } = instance;
  const preludeHandle = vm.evalCode(source, "<prelude>");
  const configText = vm.newString(config);
  const made = call(instance, preludeHandle, vm.newFunction("post", post), configText);
  for (const handle of [preludeHandle, configText]) handle.dispose();
  return eachEntry((name) => made.getProp(name), made.getProp("builtins"));
}

/**
 * Finds the prelude's functions again in a guest that was made from an image: its handles are those
 * of the image.
 */
function findPrelude({ vm }: Instance, post: PostFunction, { entries }: EngineImage): Entries {
  vm.registerHostCallback("post", post);
  const handle = (token: number) => new JSValueHandle(vm, token);
  return eachEntry(
    (name) => handle(entries[name]),
    entries.builtins === undefined ? undefined : handle(entries.builtins),
  );
}

/** Places of the prelude's functions, for an image. */
function placesOf(entries: Entries): PreludeEntries<number> {
  return eachEntry((name) => entries[name].ptr, entries.builtins?.ptr);
}

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

type GuestCode = Pick<Engine, "startCell" | "startOwnCell" | "extend" | "runPreamble" | "compile" | "enter">;

/** The ways in which host code enters the guest. */
function openGuestCode(instance: Instance, post: PostFunction): GuestCode {
  const { vm } = instance;
  return {
    startCell: (source, filename) => start(instance, () => vm.evalCode(source, filename, EvalFlags.ASYNC)),
    startOwnCell: (source, filename) =>
      start(instance, () => {
        using cell = vm.evalCode(source, filename);
        return call(instance, cell, entriesOf(instance).builtins ?? vm.global);
      }),
    extend(source, config) {
      instance.stopped = false;
      return attempt(instance, () => extend(instance, post, source, config));
    },
    runPreamble(source, filename) {
      instance.stopped = false;
      return attempt(instance, () => {
        using names = vm.evalCode(source, filename);
        return call(instance, entriesOf(instance).inject, names);
      });
    },
    compile(source, filename, kind = "script") {
      const flags = kind === "cell" ? EvalFlags.COMPILE_ONLY | EvalFlags.ASYNC : EvalFlags.COMPILE_ONLY;
      return attempt(instance, () => vm.evalCode(source, filename, flags));
    },
    enter(name, payload) {
      instance.stopped = false;
      return attempt(instance, () => {
        using nameText = vm.newString(name);
        using payloadText = vm.newString(payload);
        return call(instance, entriesOf(instance).enter, nameText, payloadText);
      });
    },
  };
}

/** Runs a cell up to its first wait; its end is posted. */
function start(instance: Instance, cell: () => JSValueHandle): void {
  const { finish, failed } = entriesOf(instance);
  instance.stopped = false;
  try {
    using promise = cell();
    // The engine's own subscription: a guest may have patched Promise.prototype.
    instance.vm.promiseThenRaw(promise, finish, failed).dispose();
  } catch (error) {
    using exception = exceptionIn(instance, error);
    if (!instance.stopped) attempt(instance, () => call(instance, failed, exception.handle));
  }
}

/**
 * Gives the extension a `post` of its own, and uses what it returns in place of what the guest was
 * entered by.
 */
function extend(instance: Instance, post: PostFunction, source: string, config: string): JSValueHandle {
  const { vm } = instance;
  const { enter, inject, builtins, ...kept } = entriesOf(instance);
  vm.unregisterHostCallback("post");
  using extension = vm.evalCode(source, "<extension>");
  using postHandle = vm.newFunction("post", post);
  using configText = vm.newString(config);
  using made = call(instance, extension, postHandle, configText, enter, inject, builtins ?? vm.undefined);
  instance.entries = {
    ...kept,
    enter: made.getProp("enter"),
    inject: made.getProp("inject"),
    builtins: made.getProp("builtins"),
  };
  for (const replaced of [enter, inject, builtins]) replaced?.dispose();
  return vm.undefined;
}

/** The host function that the prelude is given. */
type PostFunction = (kind?: JSValueHandle, name?: JSValueHandle, payload?: JSValueHandle) => JSValueHandle;

/** The guest's one way out, as a function of the engine. */
function openGuestPost({ vm }: Instance, host: EngineHost, strings: Strings) {
  // The engine duplicates what a host function returns: the host must free a reply, but only once
  // the call has returned.
  let lastReply: JSValueHandle | undefined;

  /** Frees the last reply. An image that was captured before would hold its value forever. */
  function forgetReply(): void {
    lastReply?.dispose();
    lastReply = undefined;
  }

  const post: PostFunction = (kind, name, payload) => {
    const reply = host.post(textOf(kind), textOf(name), textOf(payload));
    forgetReply();
    lastReply =
      typeof reply === "string" ? vm.newString(reply) : host.placing(reply, () => strings.place(textOf(name), reply));
    return lastReply;
  };
  return { post, forgetReply };
}

function textOf(handle: JSValueHandle | undefined): string {
  return handle?.isString ? handle.toString() : "";
}

/**
 * Makes strings of the engine from texts of the host, whose characters are written straight into
 * memory.
 */
interface Strings {
  /**
   * Makes a guest string. A long one is listed from now on.
   *
   * @throws if the guest is out of memory
   */
  place(name: string, text: HostText): JSValueHandle;
  /**
   * Writes a text into an image that was made without it.
   *
   * @throws MachineFault if no such string lies at the place
   */
  writeBack(place: EnginePlace, text: HostText): void;
  places(): readonly EnginePlace[];
  release(name: string): void;
}

/**
 * A string of the engine in memory, as measured with quickjs-wasi 3.6.2: a reference count, then
 * its length with the top bit set if units take two bytes, and its characters 24 bytes after the
 * length. If this does not hold for a string, it is made in the engine's own way and is not listed.
 */
const COUNT_BEFORE = 4;
const CHARACTERS_AFTER = 24;
const WIDE = 0x80000000;
/** The characters with which the prelude's `blank` fills. */
const FILLER = { latin1: Buffer.from(" ".repeat(16), "latin1"), utf16le: Buffer.from("\u0100".repeat(16), "utf16le") };

function openStrings(instance: Instance): Strings {
  const { vm, raw } = instance;
  const listed = new Map<string, EnginePlace>();
  const bytesAt = ({ address, bytes }: Pick<EnginePlace, "address" | "bytes">) =>
    new Uint8Array(raw.memory.buffer, address, bytes);

  /**
   * The reference count of the string of this shape that has its characters at the place; 0 if
   * there is none.
   */
  function countAt({ address, bytes, encoding }: Pick<EnginePlace, "address" | "bytes" | "encoding">): number {
    const view = new DataView(raw.memory.buffer);
    const start = address - CHARACTERS_AFTER;
    if (start < COUNT_BEFORE || address + bytes > view.byteLength) return 0;
    const length = encoding === "latin1" ? bytes : bytes / 2 + WIDE;
    return view.getUint32(start, true) === length ? view.getInt32(start - COUNT_BEFORE, true) : 0;
  }

  const isBlank = (place: Omit<EnginePlace, "name">) => {
    const memory = bytesAt(place);
    const filler = FILLER[place.encoding];
    return (
      filler.compare(memory, 0, filler.length) === 0 && filler.compare(memory, memory.length - filler.length) === 0
    );
  };

  return {
    place(name: string, text: HostText): JSValueHandle {
      if (text.bytes < PAGE_BYTES) return vm.newString(text.toString());
      const string = blank(instance, text);
      const address = raw.qjs_get_value_ptr(string.ptr) + CHARACTERS_AFTER;
      const place = { name, encoding: text.encoding, address, bytes: text.bytes };
      if (countAt(place) !== 1 || !isBlank(place)) {
        string.dispose();
        return vm.newString(text.toString());
      }
      text.write(bytesAt(place));
      listed.set(name, place);
      return string;
    },
    writeBack(place: EnginePlace, text: HostText): void {
      if (text.encoding !== place.encoding || text.bytes !== place.bytes || countAt(place) < 1) {
        throw new MachineFault(`the image holds no string for the text ${place.name}`);
      }
      text.write(bytesAt(place));
      listed.set(place.name, place);
    },
    places(): readonly EnginePlace[] {
      for (const [name, place] of listed) if (countAt(place) < 1) listed.delete(name);
      return [...listed.values()];
    },
    release(name: string): void {
      const place = listed.get(name);
      if (place && countAt(place) === 1) bytesAt(place).fill(0);
      listed.delete(name);
    },
  };
}

/** A string of as many filler characters as the text has. @throws if the guest is out of memory */
function blank(instance: Instance, { units, encoding }: HostText): JSValueHandle {
  const { vm } = instance;
  using count = vm.newNumber(units);
  return call(instance, entriesOf(instance).blank, count, encoding === "utf16le" ? vm.true : vm.false);
}
