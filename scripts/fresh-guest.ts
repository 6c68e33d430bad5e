import { hash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { pack } from "../runtime/images/changes.ts";
import type { FreshHead } from "../runtime/threads/machines.ts";
import { freshOf, openMachines } from "../runtime/threads/machines.ts";

// Writes the fresh guest of a bundle beside the entry of its machines' thread: fresh-guest.ts FOLDER

const [folder = "dist"] = process.argv.slice(2);
const entry = pathToFileURL(join(folder, "src/machine-thread-entry.js"));
const kept = fileURLToPath(freshOf(entry));
// That of an earlier bundle would be taken for this one's if the guest code has changed and its version has not. A process that
// starts meanwhile makes its own.
rmSync(kept, { force: true });
const { seat, baseline } = await openMachines().take(entry);
await seat.leave(false);

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array) => new Uint8Array(buffer, byteOffset, byteLength);
const parts = baseline.pages.map(({ numbers, changes, packed }) => ({
  numbers: bytesOf(numbers),
  packed: packed ?? pack(bytesOf(changes)),
}));
const written = Buffer.concat(parts.flatMap(({ numbers, packed }) => [numbers, packed]));
const head: FreshHead = {
  id: baseline.image.id,
  meta: baseline.image.meta,
  parts: parts.map(({ numbers, packed }) => ({ numbers: numbers.length, packed: packed.length })),
  sha256: hash("sha256", written),
};
const { memory, meta } = baseline.image;
writeFileSync(
  kept,
  Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), memory.subarray(meta.stackPointer), written]),
);
