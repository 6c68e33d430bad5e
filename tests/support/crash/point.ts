import { once } from "node:events";
import { writeSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type { Store } from "../../../src/store/index.ts";
import { storeAround, WRITES } from "../store-around.ts";

/** Where a process kills itself: at the n-th operation that writes, counted over the life of the process. */
export interface CrashPoint {
  /** From 1; 0: nowhere. */
  readonly operation: number;
  /** `before` it is begun; `during` it, `waitMs` after it was begun; `after` it is on disk and nobody knows yet. */
  readonly side: "before" | "during" | "after";
  readonly waitMs: number;
}

/** The variable that holds a crash point as JSON. Only `crash/cli.ts` reads it. */
export const CRASH_VARIABLE = "BELAY_CRASH_POINT";

/** Where the process tells of what it does, a line each: `store` once it is open, then the name of each operation. */
export const CRASH_CHANNEL = 3;

/** The crash point that the variable holds. */
export function crashPointOf(text: string | undefined): CrashPoint {
  const point: Partial<CrashPoint> = JSON.parse(text ?? "{}");
  return { operation: point.operation ?? 0, side: point.side ?? "before", waitMs: point.waitMs ?? 0 };
}

/** Makes stores that end this process at the crash point, without a word to anybody; their operations count together. */
export function crashingStores(point: CrashPoint): (store: Store) => Store {
  let count = 0;
  return (store) => {
    tell("store");
    return storeAround(store, async (name, run) => {
      if (!WRITES.has(name)) return run();
      const here = ++count === point.operation;
      tell(name);
      if (here && point.side === "before") die();
      if (here && point.side === "during") await dieAfter(point.waitMs);
      const value = await run();
      if (here) die();
      return value;
    });
  };
}

/** Another thread kills the process after so many ms, whatever this one does then. Resolves once it has begun to count. */
async function dieAfter(ms: number): Promise<void> {
  const killer = new Worker(KILLER, { eval: true, workerData: ms });
  await once(killer, "message");
}

const KILLER = `const { parentPort, workerData } = require("node:worker_threads");
  parentPort.postMessage("begun");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, workerData);
  process.kill(process.pid, "SIGKILL");`;

function tell(line: string): void {
  writeSync(CRASH_CHANNEL, `${line}\n`);
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("a process outlived SIGKILL");
}
