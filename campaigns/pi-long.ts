import { parseArgs } from "node:util";
import { bundleCommands } from "../tests/support/command.ts";
import { piLines, script, seedOf, wholeNumber } from "./arguments.ts";
import { HARDSHIPS } from "./pi/hardships.ts";
import { type LongReport, longTalk, type Strategy } from "./pi/long.ts";

// Long conversations in real Pi processes: what the requests come to with Belay, with nothing, and with another rule.

const USAGE = "npm run pi-long -- [--turns N] [--window TOKENS] [--seed N] [--pi VERSION|CLI.js]";
const STRATEGIES: readonly Strategy[] = ["nothing", "seed", "belay"];

await script(USAGE, read, async ({ lines, ...options }) => {
  await bundleCommands();
  console.log(`seed ${options.seed}, ${options.turns} turns, window ${options.window}`);
  console.log(
    row(["Pi", "strategy", "requests", "refused", "breaks", "uncached KB", "largest", "compactions", "entries"]),
  );
  for (const line of lines) {
    for (const strategy of STRATEGIES) {
      const report = await longTalk({ line, strategy, hardships: HARDSHIPS, ...options });
      console.log(row([line.version, strategy, ...cells(report)]));
      for (const [hardship, { search, cell }] of Object.entries(report.found)) {
        console.log(`${" ".repeat(12)}facts found after ${hardship}: ${search} by rlm_search, ${cell} by history.find`);
      }
    }
  }
  return 0;
});

function cells(report: LongReport): readonly string[] {
  const { requests, refused, breaks, uncachedKB, largest, compactions, entries } = report;
  const counts = [requests, refused, breaks, uncachedKB, largest, compactions, entries];
  return counts.map((count) => count.toLocaleString("en-US"));
}

function row(texts: readonly string[]): string {
  return texts.map((text) => text.padStart(11)).join(" ");
}

function read(args: string[]) {
  const options = {
    turns: { type: "string", default: "200" },
    window: { type: "string", default: "64000" },
    seed: { type: "string", default: "1" },
    pi: { type: "string" },
  } as const;
  const { values } = parseArgs({ args, options });
  return {
    lines: piLines(values.pi),
    turns: wholeNumber("turns", values.turns),
    window: wholeNumber("window", values.window),
    seed: seedOf(values.seed),
  };
}
