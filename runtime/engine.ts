/**
 * The port to a JavaScript engine that runs inside WebAssembly. One engine object is one guest: a heap, its job queue
 * and the prelude. Nothing here knows cells, limits or calls.
 */

import type { TextPlace } from "./image.ts";
import type { HostText } from "./texts.ts";

/** What the engine needs from the machine around it. */
export interface EngineHost {
  /**
   * The guest's one way out. `kind` is one of `sync | call | site | print | done | text | bytes`; `text` answers a text of
   * the host, or its error. Must not throw.
   */
  post(kind: string, name: string, payload: string): string | HostText;
  /** Around the making of a text's guest string: not guest running time, and with room for it in the heap. */
  placing<T>(text: HostText, make: () => T): T;
  /** Polled while guest code runs; true ends it with an exception that the guest cannot catch. */
  shouldStop(): boolean;
  /** Wall clock that the guest sees, ms since the epoch. */
  now(): number;
}

export interface EngineOptions {
  host: EngineHost;
  /** The prelude: a function expression of (post, config, modules); see runtime/guest/. */
  prelude: string;
  /** JSON text, the prelude's second argument. */
  config: string;
  /** Makes the guest that of an image; its prelude is in it. */
  image?: EngineImage;
  /** Texts to write back into the image. */
  texts?: readonly { readonly place: EnginePlace; readonly text: HostText }[];
}

/** The functions that the prelude answers with. */
export type PreludeEntry = "enter" | "finish" | "failed" | "describe" | "inject" | "rejected" | "blank";

/** One of each, and of the object that holds every builtin: preludes of earlier versions have none. */
export type PreludeEntries<T> = Readonly<Record<PreludeEntry, T>> & { readonly builtins?: T };

/** A whole guest at rest. Only the build of the engine that made it can read it. */
export interface EngineImage {
  /** Of a running guest it is the live memory: good until the guest runs again. */
  readonly memory: Uint8Array;
  readonly stackPointer: number;
  readonly runtimePtr: number;
  readonly contextPtr: number;
  /** Where the prelude's functions are in it. */
  readonly entries: PreludeEntries<number>;
}

/** Where in linear memory the characters of a text of the host lie. */
export type EnginePlace = Omit<TextPlace, "id">;

/** `failure` is what the prelude's `describe` says of the thrown value, or null where even that could not run. */
export type Entered = { ok: true; value: string } | { ok: false; failure: string | null };

/**
 * Every method may throw `MachineFault`: the instance is corrupt and must be discarded. Guest exceptions never throw.
 */
export interface Engine extends Disposable {
  /** Starts a cell: a global script with top-level await. Its end is posted as `done`. */
  startCell(source: string, filename: string): void;
  /**
   * Starts a cell of the host's own: an expression of an async function of the object that holds every builtin. In a guest of
   * an earlier version that is the global object.
   */
  startOwnCell(source: string, filename: string): void;
  /** Brings a guest that was made from an image what its prelude lacks: see `extensionSource`. */
  extend(source: string, config: string): Entered;
  /** Runs a script whose value is an object of names, which the prelude defines as globals. */
  runPreamble(source: string, filename: string): Entered;
  /** Compiles without running. */
  compile(source: string, filename: string): Entered;
  /** Calls into the prelude: a step or a command by name, JSON text both ways. */
  enter(name: string, payload: string): Entered;
  /** Runs one job of the queue. `stopped`: the job was cut by `shouldStop`. */
  runJob(): "ran" | "empty" | "stopped";
  /** The guest as it is, without a copy; nothing of it may be running. */
  image(): EngineImage;
  /** Whether a job is queued. */
  hasJob(): boolean;
  /** Texts of the host that the guest holds, each at a place that can neither move nor be used for something else. */
  texts(): readonly EnginePlace[];
  /** The guest is about to drop its own hold on a text: the place is no longer listed, and blank where nobody else holds it. */
  releaseText(name: string): void;
  /** Bytes that the guest's allocator may hand out; 0, as at first: no limit. */
  setMemoryLimit(bytes: number): void;
  /** Bytes that the guest's allocator has handed out. Walks the heap: not for hot paths. */
  heapBytes(): number;
}

export class MachineFault extends Error {
  override readonly name = "MachineFault";
}
