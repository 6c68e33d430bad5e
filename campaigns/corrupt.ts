import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { script, seedOf, wholeNumber } from "./arguments.ts";
import { corrupt } from "./corrupt/corruption.ts";

// Flips single bits in a store and cuts its blobs, opens it anew each time, and reads all that a resume reads: what
// comes out is what went in, or it is refused by name.

await script("npm run corrupt -- [--flips N] [--seed N]", read, ({ flips, seed }) => {
  const folder = mkdtempSync(join(tmpdir(), "belay-corrupt-"));
  console.log(`seed ${seed}`);
  try {
    const tally = corrupt({ folder, flips, seed, cutEvery: 1 });
    for (const line of tally.lines) console.log(line);
    return tally.wrong + tally.crashed === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function read(args: string[]) {
  const options = { flips: { type: "string", default: "10000" }, seed: { type: "string" } } as const;
  const { values } = parseArgs({ args, options });
  return { flips: wholeNumber("flips", values.flips), seed: seedOf(values.seed) };
}
