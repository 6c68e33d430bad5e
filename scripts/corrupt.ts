import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { corrupt } from "../tests/src/store/corruption.ts";

// Flips single bits in a store and cuts its blobs, opens it anew each time, and reads all that a resume reads: what
// comes out is what went in, or it is refused by name. `npm run corrupt -- --flips 10000 --seed 1`

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: { flips: { type: "string", default: "10000" }, seed: { type: "string", default: "1" } },
});
const folder = mkdtempSync(join(tmpdir(), "belay-corrupt-"));
try {
  const tally = corrupt({ folder, flips: Number(values.flips), seed: Number(values.seed), cutEvery: 1 });
  for (const line of tally.lines) console.log(line);
  process.exitCode = tally.wrong + tally.crashed === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
