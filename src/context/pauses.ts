import { setImmediate } from "node:timers/promises";
import type { Pause } from "./context.ts";

const SLICE_BYTES = 1024 * 1024;

/** Lets the thread do other things after each MB: answer a user interface, for example. @param tell is called before */
export function pauses(tell = () => {}): Pause {
  let worked = 0;
  return async (bytes) => {
    worked += bytes;
    if (worked < SLICE_BYTES) return;
    worked = 0;
    tell();
    await setImmediate();
  };
}
