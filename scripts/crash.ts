import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleCommands } from "../tests/support/command.ts";
import { crashCampaign } from "../tests/support/crash-campaign.ts";
import type { KillsAt } from "../tests/support/crash-plan.ts";
import { type CrashProgram, crashPrograms } from "../tests/support/crash-programs.ts";
import { printed } from "../tests/support/crash-report.ts";

// Kills real processes of the command, has others go on, and compares with what uninterrupted ones come to.

const AT: readonly KillsAt[] = ["operations", "random", "both"];
const USAGE = `usage: npm run crash -- [--runs N | --kills N] [--seed N] [--programs A,B] [--at ${AT.join("|")}] [--most N] [--jobs N] [--keep]`;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const read = readArguments(args);
  if (typeof read === "string") {
    console.error(`${read}\n${USAGE}`);
    return 2;
  }
  const { keep, ...options } = read;
  const folder = mkdtempSync(join(tmpdir(), "belay-crash-"));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  process.once("exit", () => {
    if (!keep) rmSync(folder, { recursive: true, force: true });
  });
  await bundleCommands();
  console.log(`seed ${options.seed}, in ${folder}`);
  const started = performance.now();
  const report = await crashCampaign({ ...options, folder, apart: true, say: (line) => console.log(line) });
  console.log(`${printed(report)}\nseconds         ${Math.round((performance.now() - started) / 1000)}`);
  return report.mismatches.length > 0 ? 1 : 0;
}

/** The options, or what is wrong with the arguments. */
function readArguments(args: string[]) {
  const options = {
    runs: { type: "string" },
    kills: { type: "string" },
    seed: { type: "string" },
    programs: { type: "string" },
    at: { type: "string", default: "both" },
    most: { type: "string", default: "3" },
    jobs: { type: "string", default: "2" },
    keep: { type: "boolean", default: false },
  } as const;
  try {
    const { values } = parseArgs({ args, options });
    const number = (text: string) => {
      if (!/^\d+$/.test(text)) throw new Error(`not a number: ${text}`);
      return Number(text);
    };
    const at = AT.find((known) => known === values.at);
    if (!at) throw new Error(`--at is ${values.at}`);
    return {
      programs: named(values.programs),
      seed: values.seed === undefined ? Date.now() % 1_000_000_000 : number(values.seed),
      until: values.kills === undefined ? { runs: number(values.runs ?? "200") } : { kills: number(values.kills) },
      at,
      most: number(values.most),
      jobs: number(values.jobs),
      keep: values.keep,
    };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function named(list: string | undefined): readonly CrashProgram[] {
  const all = crashPrograms();
  if (list === undefined) return all;
  return list.split(",").map((name) => {
    const program = all.find((one) => one.name === name);
    if (!program) throw new Error(`no program ${name}; there are ${all.map((one) => one.name).join(", ")}`);
    return program;
  });
}
