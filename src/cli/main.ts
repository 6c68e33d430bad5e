#!/usr/bin/env node
import { silenceSqliteWarning } from "../platform/sqlite-warning.ts";
import { nodeProblem } from "./node-version.ts";

// Nothing else is imported before the two checks: an old Node may lack what the rest needs, and
// node:sqlite warns as soon as it is loaded.
const problem = nodeProblem(process.versions.node);
if (problem === null) {
  silenceSqliteWarning();
  const { endProcess, prepareProcess, startMachine } = await import("./startup.ts");
  prepareProcess(process);
  const [{ run }] = await Promise.all([import("./run.ts"), startMachine(process.argv.slice(2))]);
  process.exitCode = await run(process.argv.slice(2));
  endProcess(process);
} else {
  process.stderr.write(`belay: ${problem}\n`);
  process.exitCode = 1;
}
