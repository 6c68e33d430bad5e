import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../../scripts/process.ts";

// The command as tests start it. They start it a thousand times, and most of a short life goes into loading modules.

/** Where modules are kept compiled between processes and runs. */
export const COMPILED = join(ROOT, "node_modules/.cache/belay-tests");

export const BUNDLED = join(COMPILED, "bundle");

/** Arguments of node for processes that live for a second: little garbage is collected, and no engine is optimised. */
export const QUICK: readonly string[] = [
  "--min-semi-space-size=16",
  "--import",
  pathToFileURL(join(ROOT, "tests/support/quick-engine.js")).href,
];

/** Arguments of node that make it `belay`. */
export const COMMAND: readonly string[] = [...QUICK, join(BUNDLED, "src/cli/main.js")];

/** As COMMAND, but a context is large from 1,001 files on. */
export const LOW_BORDER_COMMAND: readonly string[] = [...QUICK, join(BUNDLED, "tests/support/low-border-cli.js")];

/** As COMMAND, over a store that kills the process where it is told to. */
export const CRASHING_COMMAND: readonly string[] = [...QUICK, join(BUNDLED, "tests/support/crash/cli.js")];

/** A program that lends functions to a cell, over such a store. */
export const LENDING_PROGRAM: readonly string[] = [...QUICK, join(BUNDLED, "tests/support/crash/functions.js")];

/** A program with an agent, which calls the tools of a kept session. */
export const TOOL_HOST: readonly string[] = [...QUICK, join(BUNDLED, "tests/support/tool-host.js")];

/** A worker that ends itself after a step of a try. */
export const KILLED_WORKER: readonly string[] = [...QUICK, join(BUNDLED, "tests/support/jobs/killed-worker.js")];

/** The Pi extension, as its users load it. */
export const BUILT_EXTENSION = join(BUNDLED, "src/pi/index.js");

/** The Pi extension with the tests' commands around it. */
export const TEST_EXTENSION = join(BUNDLED, "tests/support/pi/extension.js");

/** The file of a thread in this folder. */
export function threadEntry(name: "async" | "older"): URL {
  return supportEntry(`${name}-thread-entry`);
}

/** The file of a process that tries a job, and ends itself in the middle. */
export const dyingChildEntry = () => supportEntry("jobs/dying-child-entry");

/** While files are watched, the bundle would be older than they are. */
function supportEntry(path: string): URL {
  const isBundled = process.env.VITEST_MODE === "RUN";
  return pathToFileURL(join(isBundled ? BUNDLED : ROOT, `tests/support/${path}.${isBundled ? "js" : "ts"}`));
}

declare global {
  var belayBundled: Promise<void> | undefined;
}

/**
 * Bundles the commands and the extension of today's sources, once for all projects, whose modules are their own. If the run before
 * had the same sources, its bundle is theirs.
 */
export function bundleCommands(): Promise<void> {
  globalThis.belayBundled ??= bundled();
  return globalThis.belayBundled;
}

/** What bundles is imported here alone: each worker would load it. */
async function bundled(): Promise<void> {
  const { oncePerSources } = await import("./once-per-sources.ts");
  await oncePerSources(join(BUNDLED, "sources"), bundleNow);
}

async function bundleNow(): Promise<void> {
  const [{ bundle, ENTRIES }, { BESIDE }] = await Promise.all([
    import("../../scripts/bundle.ts"),
    import("../../bench/built.ts"),
  ]);
  hidePi();
  await bundle(BUNDLED, [
    ...ENTRIES,
    ...BESIDE,
    "tests/support/async-thread-entry",
    "tests/support/older-thread-entry",
    "tests/support/crash/cli",
    "tests/support/crash/functions",
    "tests/support/jobs/dying-child-entry",
    "tests/support/jobs/killed-worker",
    "tests/support/low-border-cli",
    "tests/support/pi/extension",
    "tests/support/tool-host",
  ]);
}

/** As in a folder that npm has installed, Pi's packages are not found from the bundle: Pi gives it its own. */
function hidePi(): void {
  for (const name of ["pi-ai", "pi-coding-agent", "pi-tui"]) {
    const folder = join(BUNDLED, "node_modules/@mariozechner", name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "exports": {} }');
  }
  writeFileSync(join(BUNDLED, "package.json"), '{ "type": "module" }');
}
