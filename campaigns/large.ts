import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { LIMITS } from "../runtime/index.ts";
import { bundleCommands } from "../tests/support/command.ts";
import { script, seedOf, wholeNumber } from "./arguments.ts";
import { largeCampaign, printedLarge } from "./large/campaign.ts";
import { filesInput, logInput } from "./large/inputs.ts";

// Kills processes that load contexts over 100 MB or 10,000 files, append to them, index them and look into them. The same line
// is typed again until it ends, beside `belay gc` too. What it comes to is what an undisturbed process did, and nothing is left.

const USAGE = "npm run campaign -- large [--kills N] [--most N] [--seed N] [--mb N,N] [--files N]";

await script(USAGE, read, async ({ kills, most, seed, sizes, files }) => {
  const folder = mkdtempSync(join(tmpdir(), "belay-large-"));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  await bundleCommands();
  console.log(`seed ${seed}`);
  const started = performance.now();
  const from = join(folder, "contexts");
  mkdirSync(from);
  const inputs = [...sizes.map((mb) => logInput(from, mb, seed)), filesInput(from, files)];
  const report = await largeCampaign({ folder, inputs, kills, most, seed, say: (line) => console.log(line) });
  console.log(`${printedLarge(report)}\nseconds         ${Math.round((performance.now() - started) / 1000)}`);
  return report.mismatches.length > 0 ? 1 : 0;
});

function read(args: string[]) {
  const options = {
    kills: { type: "string", default: "200" },
    most: { type: "string", default: "4" },
    seed: { type: "string" },
    mb: { type: "string", default: "120,300" },
    files: { type: "string", default: "20000" },
  } as const;
  const { values } = parseArgs({ args, options });
  return {
    kills: wholeNumber("kills", values.kills),
    most: wholeNumber("most", values.most),
    seed: seedOf(values.seed),
    sizes: values.mb.split(",").map((mb) => above("mb", mb, LIMITS.contextBytes / 2 ** 20)),
    files: above("files", values.files, LIMITS.files),
  };
}

/** The option's value. @throws Error if a context of this size is held in memory, whose index `belay rm` leaves for others */
function above(option: string, text: string, most: number): number {
  const value = wholeNumber(option, text);
  if (value > most) return value;
  throw new Error(`--${option} takes a number above ${most}, not ${value}: such a context is not large`);
}
