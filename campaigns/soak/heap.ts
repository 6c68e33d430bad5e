import { setImmediate } from "node:timers/promises";
import { queryObjects, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");
// Node keeps a note of each of the last 250 requests.
performance.setResourceTimingBufferSize(0);

/** The objects and bytes that live on the main thread's heap. */
export interface Heap {
  readonly bytes: number;
  /** Without what V8 makes to run code faster, which grows for a long time. */
  readonly objects: number;
}

/** So much less is not noise. */
const LESS = 0.002;

/** Looks at the heap once collecting frees no more. */
export async function heap(): Promise<Heap> {
  for (let before = Number.POSITIVE_INFINITY; ; ) {
    // Ends of streams and threads come with turns of the event loop.
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    collect();
    const { heapUsed } = process.memoryUsage();
    if (heapUsed > before * (1 - LESS))
      return { bytes: Math.min(before, heapUsed), objects: Number(queryObjects(Object, { format: "count" })) };
    before = heapUsed;
  }
}
