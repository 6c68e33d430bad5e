import { openScripts, type Scripts } from "./cells/scripts.ts";
import { type Clock, openRunClock, type RunClock } from "./clock.ts";
import type { Engine, EngineOptions } from "./engine.ts";
import { type Heap, openHeap } from "./heap.ts";
import type { ImageFormat } from "./images/image.ts";
import { fromImage } from "./images/images.ts";
import type { GuestLibrary } from "./library.ts";
import { DEFAULT_EXEC_LIMITS, LIMITS } from "./limits.ts";
import { openPost, STRING_SLACK_BYTES } from "./post.ts";
import { preludeSource } from "./prelude.ts";
import type { Printed, Restoration } from "./protocol.ts";
import { nothingRunning, type Running } from "./running.ts";

/**
 * A guest and what its machine knows of it. The functions that drive a guest take this as their
 * first argument.
 */
export interface Guest {
  readonly engine: Engine;
  readonly heap: Heap;
  readonly clock: RunClock;
  readonly library: GuestLibrary;
  readonly scripts: Scripts;
  /** The exec that runs in the guest; between execs the last one. */
  readonly running: Running;
  /**
   * Source of this build's prelude, with its configuration: guests that were made with the same
   * text have the same builtins. A guest that was made from an image may have been made with
   * another text.
   */
  readonly prelude: string;
}

export interface GuestOptions {
  readonly library: GuestLibrary;
  /**
   * Limit of the guest's own heap, bytes. The texts that the guest takes from the library come on
   * top.
   */
  readonly memoryBytes: number;
  readonly clock: Clock;
  /** The words of `SHARED`, over a SharedArrayBuffer. */
  readonly shared: Int32Array;
  readonly notice: (text: string) => void;
  readonly printed: (part: Printed) => void;
  /** Format of the images that this build makes. */
  readonly format: ImageFormat;
  openEngine(options: EngineOptions): Promise<Engine>;
  /** If given, the guest is made from this image, which this build must be able to read. */
  readonly restore?: Restoration;
}

/** Makes a guest: a fresh one, or the one in an image. No cell has run in it in this process. */
export async function makeGuest(options: GuestOptions): Promise<Guest> {
  const { library, restore } = options;
  const clock = openRunClock(options.clock, options.shared);
  const isTaken = (source: string) => engine.compile(source, "<cell>", "cell").ok;
  const scripts = openScripts(library.reserved, namesForOwnCells(library), isTaken);
  const running = nothingRunning();
  const granted = Math.min(restore?.image.meta.granted ?? 0, mostGranted(library));
  const heap = openHeap({ limitBytes: options.memoryBytes, granted, engine: () => engine });
  const { post, placing } = openPost({ ...options, clock, scripts, running, heap, engine: () => engine });
  const prelude = preludeSource(library.modules);
  const config = preludeConfig(library);
  // Fresh guests are equal byte for byte, so each one is made at the same time.
  let now = () => 0;
  const engine = await options.openEngine({
    host: { post, placing, shouldStop: clock.shouldStop, now: () => now() },
    ...(restore ? fromImage(restore.image, library) : {}),
    prelude,
    config,
  });
  now = () => options.clock.now();
  return { engine, heap, clock, library, scripts, running, prelude: prelude + config };
}

/**
 * The most that a guest can have been granted: an image may be somebody else's, and does not raise
 * the limit of this one.
 */
function mostGranted({ texts }: GuestLibrary): number {
  const loaded = Object.values(texts).filter((text) => text.id() !== null);
  return loaded.reduce((sum, text) => sum + 2 * text.read().length + STRING_SLACK_BYTES, 0);
}

function preludeConfig(library: GuestLibrary): string {
  return JSON.stringify({
    ...installedNames(library),
    younger: [...library.younger],
    completion: false,
    outputUnits: DEFAULT_EXEC_LIMITS.max_output_bytes,
    messageUnits: LIMITS.errorMessageUnits,
  });
}

/**
 * Functions that cells reach by their own names. A module installs its name itself, and calls the
 * function behind it.
 */
export function installedNames({ sync, async, modules }: GuestLibrary) {
  const isModule = (name: string) => modules.some((module) => module.name === name);
  return {
    sync: Object.keys(sync).filter((name) => !name.includes(".") && !isModule(name)),
    async: Object.keys(async).filter((name) => async[name]?.installed),
  };
}

/** P is left out: to name it is to copy the context into the guest. */
function namesForOwnCells({ reserved, younger, texts }: GuestLibrary): string[] {
  return [...reserved, ...younger].filter((name) => !(name in texts));
}
