import { parseArgs } from "node:util";
import fc from "fast-check";
import { histories } from "../tests/support/read-cache/histories.ts";
import { play } from "../tests/support/read-cache/world.ts";
import { script, seedOf, wholeNumber } from "./arguments.ts";

// Random reads against a model that takes every answer of the read cache at its word. The tests have 3,000 of them.

const USAGE = "npm run campaign -- read-cache [--reads N] [--seed N]";
const AT_ONCE = 500;

await script(USAGE, read, async ({ reads, seed }) => {
  const modes = new Map<string, number>();
  const wrong: string[] = [];
  let [done, runs] = [0, 0];
  console.log(`seed ${seed}, ${reads.toLocaleString("en-US")} reads`);
  for (let n = 0; done < reads; n++) {
    for (const steps of fc.sample(histories(), { numRuns: AT_ONCE, seed: seed + n })) {
      const played = await play(steps);
      done += played.reads;
      runs += 1;
      for (const [mode, count] of played.modes) modes.set(mode, (modes.get(mode) ?? 0) + count);
      wrong.push(...played.wrong.map((what) => `seed ${seed + n}: ${what}: ${JSON.stringify(steps)}`));
    }
  }
  for (const [mode, count] of [...modes].toSorted()) console.log(`${mode.padEnd(20)} ${count.toLocaleString("en-US")}`);
  for (const what of wrong.slice(0, 3)) console.log(what);
  console.log(
    `${done.toLocaleString("en-US")} reads in ${runs.toLocaleString("en-US")} histories, ${wrong.length} wrong`,
  );
  return wrong.length === 0 ? 0 : 1;
});

function read(args: string[]) {
  const options = { reads: { type: "string", default: "100000" }, seed: { type: "string" } } as const;
  const { values } = parseArgs({ args, options });
  return { reads: wholeNumber("reads", values.reads), seed: seedOf(values.seed) };
}
