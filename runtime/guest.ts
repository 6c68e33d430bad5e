import type { Scripts } from "./cells/scripts.ts";
import type { RunClock } from "./clock.ts";
import type { Engine, Prelude } from "./engine.ts";
import type { Heap } from "./heap.ts";
import type { GuestLibrary } from "./library.ts";
import type { Running } from "./running.ts";

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
   * Makes this build's prelude: guests that were made with the same one have the same builtins. A
   * guest that was made from an image may have been made with another one. Its text takes longer
   * than to open a guest from an image, and is most of the garbage of that.
   */
  prelude(): Prelude;
}
