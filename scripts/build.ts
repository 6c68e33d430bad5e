import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { bundle, ENTRIES } from "./bundle.ts";
import { writeLicenses } from "./licenses.ts";
import { ROOT } from "./process.ts";
import { writeTypes } from "./types.ts";

// dist/ is the sources as JavaScript, bundled, with the types of the library's entry, and the licenses of bundled packages.
// With --no-types the types are left out: to make them takes most of the time.

const DIST = join(ROOT, "dist");

await rm(DIST, { recursive: true, force: true });
if (!process.argv.includes("--no-types"))
  await writeTypes(DIST, ["src/index", "src/tools/open-tools", "src/runs/open-runs"]);
await writeLicenses(DIST, await bundle(DIST, ENTRIES));
await chmod(join(DIST, "src/cli/main.js"), 0o755);
