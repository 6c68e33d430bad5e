import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { script, seedOf, wholeNumber } from "./arguments.ts";
import { corrupt } from "./corrupt/corruption.ts";
import { corruptRuns } from "./corrupt/runs.ts";

// Flips single bits in a store and cuts its blobs, opens it anew each time, and reads all that a resume reads: what
// comes out is what went in, or it is refused by name. Then the same with a store of runs, whose commands are typed.

const PARTS = ["sessions", "runs"] as const;

await script(
  "npm run campaign -- corrupt [--part sessions|runs] [--flips N] [--run-flips N] [--seed N]",
  read,
  async ({ parts, flips, runFlips, seed }) => {
    const folder = mkdtempSync(join(tmpdir(), "belay-corrupt-"));
    console.log(`seed ${seed}`);
    try {
      let isRight = true;
      for (const part of parts) {
        const place = join(folder, part);
        mkdirSync(place);
        const tally =
          part === "sessions"
            ? await corrupt({ folder: place, flips, seed, cutEvery: 1 })
            : await corruptRuns({ folder: place, flips: runFlips, seed, cutEvery: 64 });
        for (const line of tally.lines) console.log(`${part.padEnd(9)} ${line}`);
        isRight &&= tally.wrong + tally.crashed === 0;
      }
      return isRight ? 0 : 1;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

function read(args: string[]) {
  const options = {
    part: { type: "string" },
    flips: { type: "string", default: "10000" },
    "run-flips": { type: "string", default: "300" },
    seed: { type: "string" },
  } as const;
  const { values } = parseArgs({ args, options });
  const parts = PARTS.filter((part) => values.part === undefined || values.part === part);
  if (parts.length === 0) throw new Error(`--part is ${PARTS.join(" or ")}, not ${values.part}`);
  return {
    parts,
    flips: wholeNumber("flips", values.flips),
    runFlips: wholeNumber("run-flips", values["run-flips"]),
    seed: seedOf(values.seed),
  };
}
