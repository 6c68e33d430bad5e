import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleCommands } from "../tests/support/command.ts";
import { script, seedOf, wholeNumber } from "./arguments.ts";
import { askCampaign, printedAsks } from "./crash/asks/campaign.ts";
import { crashCampaign } from "./crash/campaign.ts";
import { functionCampaign, printedFunctions } from "./crash/functions/campaign.ts";
import type { KillsAt } from "./crash/plan.ts";
import { type CrashProgram, crashPrograms } from "./crash/programs.ts";
import { printed } from "./crash/report.ts";

// Kills real processes of the command, has others go on, and compares with what uninterrupted ones come to. With --asks these
// are asks over a tree of depth 2, with --functions programs that lend functions to a cell, else execs and queries.

const AT: readonly KillsAt[] = ["operations", "random", "both"];
const USAGE = `npm run campaign -- crash [--runs N | --kills N] [--seed N] [--programs A,B] [--at ${AT.join("|")}] [--most N] [--jobs N] [--keep]\n       npm run campaign -- crash --asks [--runs N] [--seed N] [--most N] [--jobs N] [--keep]\n       npm run campaign -- crash --functions [--kills N] [--seed N] [--most N] [--jobs N] [--keep]`;

await script(USAGE, read, async ({ keep, asks, functions, ...options }) => {
  const folder = mkdtempSync(join(tmpdir(), "belay-crash-"));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  process.once("exit", () => {
    if (!keep) rmSync(folder, { recursive: true, force: true });
  });
  await bundleCommands();
  console.log(`seed ${options.seed}, in ${folder}`);
  const started = performance.now();
  const say = (line: string) => console.log(line);
  const isDone = (text: string, { mismatches }: { readonly mismatches: readonly string[] }) => {
    say(`${text}\nseconds         ${Math.round((performance.now() - started) / 1000)}`);
    return mismatches.length > 0 ? 1 : 0;
  };
  if (asks) {
    const report = await askCampaign({ ...options, runs: asks, folder, say });
    return isDone(printedAsks(report), report);
  }
  if (functions !== null) {
    const report = await functionCampaign({ ...options, kills: functions, folder, say });
    return isDone(printedFunctions(report), report);
  }
  const report = await crashCampaign({ ...options, folder, apart: true, say });
  return isDone(printed(report), report);
});

function read(args: string[]) {
  const options = {
    runs: { type: "string", default: "200" },
    kills: { type: "string" },
    seed: { type: "string" },
    programs: { type: "string" },
    at: { type: "string", default: "both" },
    most: { type: "string", default: "3" },
    jobs: { type: "string", default: "2" },
    keep: { type: "boolean", default: false },
    asks: { type: "boolean", default: false },
    functions: { type: "boolean", default: false },
  } as const;
  const { values } = parseArgs({ args, options });
  const at = AT.find((known) => known === values.at);
  if (!at) throw new Error(`--at is ${AT.join(", ")}, not ${values.at}`);
  return {
    programs: named(values.programs),
    seed: seedOf(values.seed),
    until:
      values.kills === undefined
        ? { runs: wholeNumber("runs", values.runs) }
        : { kills: wholeNumber("kills", values.kills) },
    at,
    most: wholeNumber("most", values.most),
    jobs: wholeNumber("jobs", values.jobs),
    keep: values.keep,
    functions: values.functions ? wholeNumber("kills", values.kills ?? "100") : null,
    asks: values.asks ? wholeNumber("runs", values.runs) : null,
  };
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
