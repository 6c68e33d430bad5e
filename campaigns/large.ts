import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
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
    sizes: values.mb.split(",").map((mb) => wholeNumber("mb", mb)),
    files: wholeNumber("files", values.files),
  };
}
