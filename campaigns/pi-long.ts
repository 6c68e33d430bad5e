import { parseArgs } from "node:util";
import { bundleCommands } from "../tests/support/command.ts";
import type { PiLine } from "../tests/support/pi/process.ts";
import { piLines, script, seedOf, wholeNumber } from "./arguments.ts";
import { HARDSHIPS } from "./pi/hardships.ts";
import { type LongReport, longTalk, type Strategy } from "./pi/long.ts";
import { readsAgain } from "./pi/reads.ts";

// Long conversations in real Pi processes: what the requests come to with Belay, with nothing, and with another rule.

const USAGE = `npm run campaign -- pi-long [--turns N] [--window TOKENS] [--seed N] [--pi VERSION|CLI.js]
       npm run campaign -- pi-long --reads [--seed N] [--pi VERSION|CLI.js]`;
const READS = { reads: 60, changes: 20 };
const STRATEGIES: readonly Strategy[] = ["nothing", "seed", "belay"];

await script(USAGE, read, async ({ lines, reads, ...options }) => {
  await bundleCommands();
  if (reads) return readAgain(lines, options.seed);
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

/** Reads of few files: what they come to with the read cache and without. */
async function readAgain(lines: readonly PiLine[], seed: number): Promise<number> {
  console.log(`seed ${seed}, ${READS.reads} reads, ${READS.changes} changes`);
  console.log(row(["Pi", "read cache", "of reads", "window", "input"]));
  for (const line of lines) {
    for (const isCached of [false, true]) {
      const { readTokens, windowTokens, inputTokens, modes } = await readsAgain({ line, isCached, seed, ...READS });
      const counts = [readTokens, windowTokens, inputTokens].map((count) => count.toLocaleString("en-US"));
      const answers = [...modes].map(([mode, count]) => `${count} ${mode}`).join(", ");
      console.log(`${row([line.version, isCached ? "on" : "off", ...counts])}  ${answers}`);
    }
  }
  return 0;
}

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
    reads: { type: "boolean", default: false },
  } as const;
  const { values } = parseArgs({ args, options });
  return {
    lines: piLines(values.pi),
    turns: wholeNumber("turns", values.turns),
    window: wholeNumber("window", values.window),
    seed: seedOf(values.seed),
    reads: values.reads,
  };
}
