import { pipeline, Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { errorCode } from "../../platform/errors.ts";
import { BadLine } from "./jsonl.ts";

/** A table is refused that unpacks to more: rows are kept in a temporary file. */
const MOST_BYTES = 4 * 2 ** 30;

/** The name of a file without the extension that says it is packed. */
export const unpackedName = (name: string) => name.replace(/\.(?:gz|zst|zstd)$/i, "");

/** The content of a file, unpacked if its name ends in `.gz` or `.zst`. @throws BadLine if it is not whole */
export async function* unpackedChunks(chunks: AsyncIterable<Uint8Array>, name: string): AsyncIterable<Uint8Array> {
  if (unpackedName(name) === name) {
    yield* chunks;
    return;
  }
  const unpacking = /\.gz$/i.test(name) ? createGunzip() : createZstdDecompress();
  // A failure of either side destroys the other, and is thrown below.
  pipeline(Readable.from(chunks), unpacking, () => {});
  let bytes = 0;
  try {
    for await (const chunk of unpacking) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) break;
      yield chunk;
    }
  } catch (error) {
    const code = errorCode(error);
    if (!/^(?:Z_|ZSTD_)/.test(code)) throw error;
    const isCut = code === "Z_BUF_ERROR";
    const problem = isCut ? "ends too early, so that rows are missing" : "is damaged: it cannot be unpacked";
    throw new BadLine(name, problem, "Copy or download it again.");
  }
  if (bytes > MOST_BYTES) throw new BadLine(name, "unpacks to more than 4 GB", "Unpack it, and name the file.");
}
