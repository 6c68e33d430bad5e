import { parseArgs } from "node:util";
import { piCampaign } from "../tests/support/pi-campaign.ts";
import { PI_LINES } from "../tests/support/pi-process.ts";

// Kills real Pi processes by chance, has others go on, and judges what the sessions come to.

const USAGE = "usage: npm run pi-campaign -- [--sessions N] [--cells N] [--seed N] [--pi VERSION]";

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const read = readArguments(args);
  if (typeof read === "string") {
    console.error(`${read}\n${USAGE}`);
    return 2;
  }
  console.log(`seed ${read.seed}`);
  const { processes, kills, subCalls, mismatches } = await piCampaign({ ...read, say: (line) => console.log(line) });
  console.log(`processes ${processes}\nkills     ${kills}\nsub-calls ${subCalls}\nmismatches ${mismatches.length}`);
  return mismatches.length > 0 ? 1 : 0;
}

/** The options, or what is wrong with the arguments. */
function readArguments(args: string[]) {
  const options = {
    sessions: { type: "string", default: "5" },
    cells: { type: "string", default: "6" },
    seed: { type: "string" },
    pi: { type: "string" },
  } as const;
  try {
    const { values } = parseArgs({ args, options });
    const number = (text: string) => {
      if (!/^\d+$/.test(text)) throw new Error(`not a number: ${text}`);
      return Number(text);
    };
    const lines = PI_LINES.filter(({ version }) => values.pi === undefined || values.pi === version);
    if (lines.length === 0) throw new Error(`there are ${PI_LINES.map(({ version }) => version).join(" and ")}`);
    return {
      lines,
      sessions: number(values.sessions),
      cells: number(values.cells),
      seed: values.seed === undefined ? Date.now() % 1_000_000 : number(values.seed),
    };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
