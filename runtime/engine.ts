/**
 * The port to a JavaScript engine that runs inside WebAssembly. One engine object is one guest: a
 * heap, its job queue and the prelude. Nothing here knows cells, limits or calls.
 */

/** The engine's port to the machine around it. */
export interface EngineHost {
  /**
   * The guest's one way out. `openPost` lists the kinds. A post of kind `text` is answered with a
   * text of the host, or with an error. Must not throw.
   */
  post(kind: string, name: string, payload: string): string | HostText;
  /**
   * Runs what makes the guest's string of a text: outside guest running time, and with room for the
   * string in the heap.
   */
  placing<T>(text: HostText, make: () => T): T;
  /**
   * Polled while guest code runs. If it returns true, guest code ends with an exception that the
   * guest cannot catch.
   */
  shouldStop(): boolean;
  /** The wall clock that the guest sees, ms since the epoch. */
  now(): number;
}

export interface Prelude {
  /** A function expression of (post, config); see runtime/guest/. */
  readonly source: string;
  /** JSON text, its second argument. */
  readonly config: string;
}

export interface EngineOptions {
  host: EngineHost;
  /** Makes the prelude. It is called for a new guest alone: an image has its own. */
  prelude(): Prelude;
  /** If given, the guest is made from this image. */
  image?: EngineImage;
  /** Texts to write back into the image. */
  texts?: readonly { readonly place: EnginePlace; readonly text: HostText }[];
}

/** Names of the functions that the prelude returns. */
export type PreludeEntry = "enter" | "finish" | "failed" | "describe" | "inject" | "rejected" | "blank";

/**
 * One value for each function, and one for the object that holds every builtin, which preludes of
 * earlier versions lack.
 */
export type PreludeEntries<T> = Readonly<Record<PreludeEntry, T>> & { readonly builtins?: T };

/** A whole guest at rest. Only the build of the engine that made it can read it. */
export interface EngineImage {
  /** If the guest is live this is its memory, not a copy: valid until the guest runs again. */
  readonly memory: Uint8Array;
  readonly stackPointer: number;
  readonly runtimePtr: number;
  readonly contextPtr: number;
  /** Places of the prelude's functions in the memory. */
  readonly entries: PreludeEntries<number>;
}

/** The place of a host text's characters in linear memory. */
export interface EnginePlace {
  /** The library's name for the text, such as `P`. */
  readonly name: string;
  readonly encoding: TextForm;
  /** In linear memory, bytes. */
  readonly address: number;
  readonly bytes: number;
}

/**
 * `failure` is what the prelude's `describe` says of the thrown value, or null if even that could
 * not run.
 */
export type Entered = { ok: true; value: string } | { ok: false; failure: string | null };

/**
 * Every method may throw `MachineFault`: the instance is corrupt and must be discarded. Guest
 * exceptions never throw.
 */
export interface Engine extends Disposable {
  /** Starts a cell: a global script with top-level await. Its end is posted as `done`. */
  startCell(source: string, filename: string): void;
  /**
   * Starts a cell of the host's own. The value of the source must be an async function. It is
   * called with the object that holds every builtin, or with the global object in a guest of an
   * earlier version.
   */
  startOwnCell(source: string, filename: string): void;
  /** Adds what the prelude of a guest from an image lacks: see `extensionSource`. */
  extend(source: string, config: string): Entered;
  /** Runs a script whose value is an object of names, which the prelude defines as globals. */
  runPreamble(source: string, filename: string): Entered;
  /** Compiles without running. A `cell` may await at its top level. */
  compile(source: string, filename: string, kind?: "script" | "cell"): Entered;
  /**
   * Calls a step of the prelude or a guest command by its name. Payload and answer are JSON text.
   */
  enter(name: string, payload: string): Entered;
  /** Runs one job of the queue. `stopped` means that `shouldStop` ended the job. */
  runJob(): "ran" | "empty" | "stopped";
  /** The guest as it is, without a copy. No guest code may be running. */
  image(): EngineImage;
  /** True if a job is queued. */
  hasJob(): boolean;
  /**
   * Texts of the host that the guest holds. Their places in memory neither move nor are they reused
   * while they are listed.
   */
  texts(): readonly EnginePlace[];
  /**
   * Called before the guest drops a text. The place is no longer listed. It becomes zero if nothing
   * else holds the text.
   */
  releaseText(name: string): void;
  /**
   * Limits the bytes that the guest's allocator may hand out, and those of the linear memory that
   * it may ask for. Without arguments there is no limit, as at first.
   */
  setMemoryLimit(heapBytes?: number, linearBytes?: number): void;
  /**
   * Makes most of the memory zero that the allocator has and nobody uses: what lies there would be
   * a part of images.
   */
  clearFree(): void;
  /** Bytes of linear memory, which never becomes less. */
  linearBytes(): number;
  /** Bytes that the guest's allocator has handed out. Walks the heap: not for hot paths. */
  heapBytes(): number;
}

export class MachineFault extends Error {
  override readonly name = "MachineFault";
}

/** The form of a text in the engine: a byte for each unit, or two. */
export type TextForm = "latin1" | "utf16le";

/** A text of the library, in the form in which the engine keeps it. */
export interface HostText {
  readonly encoding: "latin1" | "utf16le";
  /** Length in UTF-16 units. */
  readonly units: number;
  /** The number of bytes that it takes in guest memory. */
  readonly bytes: number;
  /** Writes it into memory of `bytes` bytes. */
  write(into: Uint8Array): void;
  /** True if memory of `bytes` bytes holds it. */
  isIn(memory: Uint8Array): boolean;
  toString(): string;
}
