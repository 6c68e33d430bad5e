import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { script, seedOf, wholeNumber } from "./arguments.ts";
import { fuzz, SURFACES } from "./fuzz/fuzz.ts";

// Random cases at every place where something foreign comes in: an answer is right or an error has a name, and the host goes on.

const NAMES = Object.keys(SURFACES);
const USAGE = `npm run campaign -- fuzz [--minutes N | --cases N] [--seed N] [--from N] [--surfaces ${NAMES.join(",")}]`;

await script(USAGE, read, async ({ minutes, cases, ...plan }) => {
  const folder = mkdtempSync(join(tmpdir(), "belay-fuzz-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  console.log(`seed ${plan.seed}`);
  const msEach = (minutes * 60_000) / Object.keys(plan.surfaces).length;
  const more = (played: number, sinceMs: number) => (cases === null ? sinceMs < msEach : played < cases);
  const found = await fuzz({ ...plan, folder, more, say: (line) => console.log(line) });
  console.log(`cases with a problem ${found}`);
  return found === 0 ? 0 : 1;
});

function read(args: string[]) {
  const options = {
    surfaces: { type: "string", default: NAMES.join(",") },
    minutes: { type: "string", default: "2" },
    cases: { type: "string" },
    seed: { type: "string" },
    from: { type: "string" },
  } as const;
  const { values } = parseArgs({ args, options });
  const names = values.surfaces.split(",");
  const unknown = names.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new Error(`--surfaces is ${NAMES.join(", ")}, not ${JSON.stringify(unknown)}`);
  const surfaces = Object.fromEntries(Object.entries(SURFACES).filter(([name]) => names.includes(name)));
  return {
    surfaces,
    minutes: wholeNumber("minutes", values.minutes),
    cases: values.cases === undefined ? null : wholeNumber("cases", values.cases),
    seed: seedOf(values.seed),
    from: values.from === undefined ? 1 : wholeNumber("from", values.from),
  };
}
