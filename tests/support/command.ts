import { join } from "node:path";
import { bundle, ENTRIES } from "../../scripts/bundle.ts";
import { ROOT } from "../../scripts/process.ts";

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
export default bundleCommands;
