import { chmod, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { exit } from "node:process";
import { fileURLToPath } from "node:url";
import { bundle, ENTRIES } from "./bundle.ts";
import { writeLicenses } from "./licenses.ts";
import { ROOT, run } from "./process.ts";

// dist/ is the sources as JavaScript, bundled, with the types of each beside, and the licenses of bundled packages.

const DIST = join(ROOT, "dist");

await rm(DIST, { recursive: true, force: true });
await writeTypes();
await writeLicenses(DIST, await bundle(DIST, ENTRIES));
await chmod(join(DIST, "src/cli/main.js"), 0o755);

async function writeTypes(): Promise<void> {
  const tsc = join(dirname(fileURLToPath(import.meta.resolve("typescript/package.json"))), "bin/tsc");
  const { code, output } = await run(process.execPath, [tsc, "-p", "tsconfig.build.json"], { cwd: ROOT });
  if (code === 0) return;
  console.error(output);
  exit(1);
}
