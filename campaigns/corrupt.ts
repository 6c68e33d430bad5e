import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { script, seedOf, wholeNumber } from "./arguments.ts";
import { corrupt } from "./corrupt/corruption.ts";
import { corruptRuns } from "./corrupt/runs.ts";

// Flips single bits in a store and cuts its blobs, opens it anew each time, and reads all that a resume reads: what
// comes out is what went in, or it is refused by name. Then the same with a store of runs, whose commands are typed.
// These are 45,000 damages of 8 ms and 328 of 180 ms of processor time. --minutes ends them sooner.

/** Time between two lines that say how far it is, ms. */
const SAID_EVERY = 10_000;
const PARTS = ["sessions", "runs"] as const;

await script(
  "npm run campaign -- corrupt [--part sessions|runs] [--flips N] [--run-flips N] [--minutes N] [--seed N]",
  read,
  async ({ parts, flips, runFlips, minutes, seed }) => {
    const folder = mkdtempSync(join(tmpdir(), "belay-corrupt-"));
    console.log(`seed ${seed}`);
    try {
      let isRight = true;
      for (const part of parts) {
        const place = join(folder, part);
        mkdirSync(place);
        const goesOn = progress(part, minutes / parts.length);
        const tally =
          part === "sessions"
            ? await corrupt({ folder: place, flips, seed, cutEvery: 1, goesOn })
            : await corruptRuns({ folder: place, flips: runFlips, seed, cutEvery: 64, goesOn });
        for (const line of tally.lines) console.log(`${part.padEnd(9)} ${line}`);
        isRight &&= tally.wrong + tally.crashed === 0;
      }
      return isRight ? 0 : 1;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

/** Says how far a part is, and how long the rest may take, and ends it after so many minutes. */
function progress(part: string, minutes: number): (done: number, of: number) => boolean {
  const started = performance.now();
  let saidAt = started;
  return (done, of) => {
    const now = performance.now();
    const left = minutes * 60_000 - (now - started);
    if (left <= 0) {
      console.log(`${part.padEnd(9)} stopped after ${done} of ${of} damages: its minutes are over`);
      return false;
    }
    if (done > 0 && now - saidAt >= SAID_EVERY) {
      saidAt = now;
      const rest = Math.min(left, ((now - started) / done) * (of - done));
      const seconds = Math.ceil(rest / 1000);
      console.error(`${part.padEnd(9)} ${done} of ${of} damages · about ${seconds} s left`);
    }
    return true;
  };
}

function read(args: string[]) {
  const options = {
    part: { type: "string" },
    flips: { type: "string", default: "10000" },
    "run-flips": { type: "string", default: "300" },
    minutes: { type: "string" },
    seed: { type: "string" },
  } as const;
  const { values } = parseArgs({ args, options });
  const parts = PARTS.filter((part) => values.part === undefined || values.part === part);
  if (parts.length === 0) throw new Error(`--part is ${PARTS.join(" or ")}, not ${values.part}`);
  return {
    parts,
    flips: wholeNumber("flips", values.flips),
    runFlips: wholeNumber("run-flips", values["run-flips"]),
    minutes: values.minutes === undefined ? Number.POSITIVE_INFINITY : wholeNumber("minutes", values.minutes),
    seed: seedOf(values.seed),
  };
}
