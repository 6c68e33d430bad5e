import { writeFileSync } from "node:fs";

const MOST_BYTES = 24 * 1024;

/** Writes an input of the corpus. */
export function write(name, bytes) {
  if (bytes.length > MOST_BYTES)
    throw new Error(`${name} has ${bytes.length} bytes, which are more than ${MOST_BYTES}`);
  writeFileSync(new URL(`../files/${name}`, import.meta.url), bytes);
}
