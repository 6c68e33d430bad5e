import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, ENTRIES } from "../scripts/bundle.ts";

/** The command as npm installs it, built from today's sources. Disposing it removes its folder. */
export interface BuiltCommand extends Disposable {
  readonly main: string;
  /** The folder of what was built. */
  readonly folder: string;
  /** An empty folder for stores, on the disk of the checkout. */
  readonly home: string;
}

export async function buildCommand(more: readonly string[] = []): Promise<BuiltCommand> {
  // In the checkout, where the packages are found, and not in a temporary folder, which may be in memory.
  const folder = mkdtempSync(fileURLToPath(new URL("../.bench-", import.meta.url)));
  await bundle(folder, [...ENTRIES, ...more]);
  return {
    folder,
    main: join(folder, "src/cli/main.js"),
    home: join(folder, "home"),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
