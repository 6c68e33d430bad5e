import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mustRun } from "../../scripts/process.ts";
import { BUNDLED, bundleCommands, COMMAND, COMPILED } from "./command.ts";
import { oncePerSources } from "./once-per-sources.ts";
import { PI_LINES } from "./pi/process.ts";

/** Vitest calls it before the tests. */
export default async function prepareCommands(): Promise<void> {
  await bundleCommands();
  await oncePerSources(join(BUNDLED, "compiled"), keepCompiled);
}

/** Starts each program once: those that tests kill do not get to keep what they have compiled. */
async function keepCompiled(): Promise<void> {
  const cwd = mkdtempSync(join(tmpdir(), "belay-first-"));
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED, HOME: cwd, BELAY_HOME: cwd, PI_OFFLINE: "1" };
  const programs = [[...COMMAND, "exec", "-e", "1 + 1"], ...PI_LINES.map(({ command }) => [command, "--version"])];
  await Promise.all(programs.map((args) => mustRun(process.execPath, args, { cwd, env })));
  rmSync(cwd, { recursive: true, force: true });
}
