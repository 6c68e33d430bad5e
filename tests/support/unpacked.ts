import { zstdDecompressSync } from "node:zlib";
import type { PagesPart } from "../../runtime/index.ts";

/** A part of a capture, with its changes as they were before they were packed. */
export function unpacked({ numbers, changes, packed }: PagesPart): PagesPart {
  return { numbers, changes: packed ? new Uint32Array(new Uint8Array(zstdDecompressSync(packed)).buffer) : changes };
}
