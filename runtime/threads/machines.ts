import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { backgroundClock, systemClock } from "../clock.ts";
import type { Baseline, ImageFormat, ImageMeta } from "../images/image.ts";
import { imageFormat } from "../images/image-compat.ts";
import { baselineId } from "../images/images.ts";
import { LIMITS } from "../limits.ts";
import { keepWasmCode, quickJsBuild } from "../quickjs/build.ts";
import type { Seat } from "./pool.ts";
import { openPool, type Pool } from "./pool.ts";
import { type MachineThread, startMachineThread } from "./thread.ts";

/**
 * Threads for the machines of a process, and the fresh guest of each kind. A kind is named by the
 * module that calls `serveSandbox`.
 */
export interface Machines {
  /**
   * Returns a thread for one machine and what a fresh guest is made from.
   *
   * @throws RlmError `machine_lost` if none starts
   */
  take(entry: URL): Promise<{ readonly seat: Seat<MachineThread>; readonly baseline: Baseline }>;
  /** Starts a thread for the next machine, if there is none yet. */
  warm(entry: URL): void;
}

interface Kind {
  readonly pool: Pool<MachineThread>;
  baseline: Baseline | null;
}

interface MachinesOptions {
  /** The number of machines that open at once. Default: one for each core. */
  readonly cores?: number;
  /** Threads up to this number are kept for the next machine. */
  readonly kept?: number;
  /** True for a process that ends after a few cells: the engine is optimized late. */
  readonly isBrief?: boolean;
}

export function openMachines({
  cores = availableParallelism(),
  kept = Math.max(cores, KEPT_AT_LEAST),
  isBrief = false,
}: MachinesOptions = {}): Machines {
  const kinds = new Map<string, Kind>();

  function kindOf(entry: URL): Kind {
    const known = kinds.get(entry.href);
    if (known) return known;
    async function start(): Promise<MachineThread> {
      // Before the thread, which must not meet the flag that is set meanwhile.
      if (isBrief) quickJsBuild(isBrief);
      const { thread, baseline } = await startMachineThread(entry, () => {
        const format = imageFormat();
        made.baseline ??= readFresh(freshOf(entry), format);
        return { wasm: quickJsBuild().module, format, prelude: made.baseline?.image.meta.prelude ?? null };
      });
      keepWasmCode();
      made.baseline ??= baseline;
      return thread;
    }
    const times = { clock: systemClock, background: backgroundClock, lingerMs: LIMITS.idleThreadMs };
    const made: Kind = { pool: openPool({ start, ...times, cores, kept }), baseline: null };
    kinds.set(entry.href, made);
    return made;
  }

  return {
    async take(entry: URL) {
      const kind = kindOf(entry);
      const seat = await kind.pool.take();
      if (kind.baseline) return { seat, baseline: kind.baseline };
      await seat.leave(false);
      throw new Error("a thread is up and there is no fresh guest");
    },
    warm: (entry: URL) => kindOf(entry).pool.warm(),
  };
}

/** The file in which a build has the fresh guest of the machines that this module serves. */
export const freshOf = (entry: URL) => new URL(entry.href.replace(/\.[jt]s$/, ".fresh"));

/** On any computer two sessions that take turns keep their machines. A thread takes about 20 MB. */
const KEPT_AT_LEAST = 2;

let shared: Machines | undefined;

/**
 * The machines of this process. A sandbox uses them unless it is given others.
 * @param given as for `openMachines`; it counts only in the first call
 */
export function processMachines(given?: MachinesOptions): Machines {
  shared ??= openMachines(given);
  return shared;
}

/**
 * The first line of a file with a fresh guest, as JSON. The guest's memory above the stack follows,
 * then the numbers and the packed changes of each part of its pages.
 */
export interface FreshHead {
  readonly id: string;
  readonly meta: ImageMeta;
  /** Bytes that each part takes. */
  readonly parts: readonly { readonly numbers: number; readonly packed: number }[];
  /** The hash of all parts, hex. */
  readonly sha256: string;
}

/**
 * The fresh guest that a build keeps beside the entry of its thread: to make one anew takes longer
 * than to start the thread. Returns null if there is none, or if it is damaged or of another build.
 */
export function readFresh(file: URL, format: ImageFormat): Baseline | null {
  try {
    const bytes = readFileSync(file);
    let at = bytes.indexOf("\n") + 1;
    const { id, meta, parts, sha256 }: FreshHead = JSON.parse(bytes.toString("utf8", 0, at));
    const next = (length: number, zeros = 0) => {
      const shared = new Uint8Array(new SharedArrayBuffer(length));
      shared.set(bytes.subarray(at, at + length - zeros), zeros);
      at += length - zeros;
      return shared;
    };
    const memory = next(meta.linearBytes, meta.stackPointer);
    const { granted: _granted, texts: _texts, ...identified } = meta;
    if (JSON.stringify(meta.gate) !== JSON.stringify(format) || baselineId(memory, identified) !== id) return null;
    if (hash("sha256", bytes.subarray(at)) !== sha256) return null;
    const pages = parts.map(({ numbers, packed }) => ({
      numbers: new Uint32Array(next(numbers).buffer),
      changes: new Uint32Array(next(0).buffer),
      packed: next(packed),
    }));
    return { image: { id, meta, memory }, pages };
  } catch {
    return null;
  }
}
