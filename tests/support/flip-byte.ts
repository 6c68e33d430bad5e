import { closeSync, openSync, readSync, writeSync } from "node:fs";

/** Changes one bit of a file in place, as a bad disk does. */
export function flipByte(path: string, at: number, bit = 1): void {
  const file = openSync(path, "r+");
  try {
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, at);
    byte[0] = (byte[0] ?? 0) ^ bit;
    writeSync(file, byte, 0, 1, at);
  } finally {
    closeSync(file);
  }
}
