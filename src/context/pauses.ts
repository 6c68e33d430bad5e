import { setImmediate } from "node:timers/promises";

/**
 * Awaited after work on so many bytes, so that the thread stays responsive. It rejects to end the
 * work.
 */
export type Pause = (bytes: number) => Promise<void>;

const SLICE_BYTES = 1024 * 1024;

/**
 * Lets the thread do other things after each MB: answer a user interface, for example.
 *
 * @param tell is called before
 */
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

/** Bytes as slices of a MB, with a pause behind each: to hash one takes a few milliseconds. */
export async function* inSlices(bytes: Uint8Array, pause: Pause) {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    const slice = bytes.subarray(at, at + SLICE_BYTES);
    yield slice;
    await pause(slice.length);
  }
}
