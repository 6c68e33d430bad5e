import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, ENTRIES } from "../scripts/bundle.ts";
import { size } from "./size.ts";

/** The command as npm installs it, built from today's sources. */
export interface BuiltCommand {
  readonly main: string;
  readonly library: string;
  /** The folder of what was built. */
  readonly folder: string;
  /** An empty folder for stores, on the disk of the checkout. */
  readonly home: string;
}

/** Entries that parts measure beside the library as it is published. */
export const BESIDE: readonly string[] = ["bench/mcp-bare", "bench/session-parts", "src/store/open"];

/** Names a folder with a build of today's sources, all entries beside the library included: none is made then. */
export const BUILD_VARIABLE = "BELAY_BENCH_BUILD";

const builds = new Map<string, Promise<string>>();

/** Builds the command once for all parts with the same entry beside it. Its folders go with the process. */
export async function buildCommand(beside?: string): Promise<BuiltCommand> {
  const entries = size(beside === undefined ? [] : [beside], BESIDE);
  const build = builds.get(entries.join()) ?? built(entries);
  builds.set(entries.join(), build);
  const folder = await build;
  return {
    folder,
    main: join(folder, "src/cli/main.js"),
    library: join(folder, "src/index.js"),
    home: newFolder(),
  };
}

async function built(beside: readonly string[]): Promise<string> {
  const given = process.env[BUILD_VARIABLE];
  if (given !== undefined) return given;
  const folder = newFolder();
  await bundle(folder, [...ENTRIES, ...beside]);
  return folder;
}

const folders: string[] = [];
process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A folder in the checkout, where the packages are found, and not in a temporary folder, which may be in memory. */
function newFolder(): string {
  const folder = mkdtempSync(fileURLToPath(new URL("../.bench-", import.meta.url)));
  folders.push(folder);
  return folder;
}
