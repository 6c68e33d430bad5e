import { isUtf8 } from "node:buffer";
import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const MOST_BYTES = 24 * 1024;

/** Writes an input of the corpus. A text that is not UTF-8 is packed, as the README beside the files says. */
export function write(name, bytes) {
  if (bytes.length > MOST_BYTES)
    throw new Error(`${name} has ${bytes.length} bytes, which are more than ${MOST_BYTES}`);
  const content = Buffer.from(bytes);
  const isOddText = !isUtf8(content) && !content.includes(0);
  const path = new URL(`../files/${name}${isOddText ? ".gz" : ""}`, import.meta.url);
  writeFileSync(path, isOddText ? gzipSync(content) : content);
}
