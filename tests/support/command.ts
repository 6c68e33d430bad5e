import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle, ENTRIES } from "../../scripts/bundle.ts";
import { mustRun, ROOT } from "../../scripts/process.ts";
import { PI_LINES } from "./pi-process.ts";

// The command as tests start it. They start it a thousand times, and most of a short life goes into loading modules.

/** Where modules are kept compiled between processes and runs. */
export const COMPILED = join(ROOT, "node_modules/.cache/belay-tests");

const BUNDLED = join(COMPILED, "bundle");

/** Arguments of node that make it `belay`. Processes that live for a second gain nothing from an optimised engine. */
export const COMMAND: readonly string[] = ["--liftoff-only", join(BUNDLED, "src/cli/main.js")];

/** As COMMAND, over a store that kills the process where it is told to. */
export const CRASHING_COMMAND: readonly string[] = ["--liftoff-only", join(BUNDLED, "tests/support/crash-cli.js")];

/** Bundles the commands of today's sources; to be done once before any of them is started. */
export async function bundleCommands(): Promise<void> {
  await bundle(BUNDLED, [...ENTRIES, "tests/support/crash-cli"]);
}

/** Vitest calls it before the tests. */
export default async function prepareCommands(): Promise<void> {
  await bundleCommands();
  await keepCompiled();
}

/** Starts each program once: those that tests kill do not get to keep what they have compiled. */
async function keepCompiled(): Promise<void> {
  const cwd = mkdtempSync(join(tmpdir(), "belay-first-"));
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED, HOME: cwd, BELAY_HOME: cwd, PI_OFFLINE: "1" };
  const programs = [[...COMMAND, "exec", "-e", "1 + 1"], ...PI_LINES.map(({ command }) => [command, "--version"])];
  await Promise.all(programs.map((args) => mustRun(process.execPath, args, { cwd, env })));
  rmSync(cwd, { recursive: true, force: true });
}
