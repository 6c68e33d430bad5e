import { parseArgs } from "node:util";
import { bundleCommands } from "../tests/support/command.ts";
import { piLines, script, seedOf, wholeNumber } from "./arguments.ts";
import { piCampaign } from "./pi/campaign.ts";

// Kills real Pi processes by chance, has others go on, and judges what the sessions come to.

const USAGE = "npm run campaign -- pi [--sessions N] [--cells N] [--seed N] [--pi VERSION|CLI.js]";

await script(USAGE, read, async (options) => {
  await bundleCommands();
  console.log(`seed ${options.seed}`);
  const { processes, kills, subCalls, mismatches } = await piCampaign({ ...options, say: (line) => console.log(line) });
  console.log(`processes ${processes}\nkills     ${kills}\nsub-calls ${subCalls}\nmismatches ${mismatches.length}`);
  return mismatches.length > 0 ? 1 : 0;
});

function read(args: string[]) {
  const options = {
    sessions: { type: "string", default: "5" },
    cells: { type: "string", default: "6" },
    seed: { type: "string" },
    pi: { type: "string" },
  } as const;
  const { values } = parseArgs({ args, options });
  return {
    lines: piLines(values.pi),
    sessions: wholeNumber("sessions", values.sessions),
    cells: wholeNumber("cells", values.cells),
    seed: seedOf(values.seed),
  };
}
