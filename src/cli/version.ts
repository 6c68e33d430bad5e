import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The version in Belay's package.json, which lies above this module: two folders in a checkout, three in a build. */
export function version(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json")) && dirname(folder) !== folder) folder = dirname(folder);
  const facts: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const found: unknown = typeof facts === "object" && facts !== null ? Reflect.get(facts, "version") : undefined;
  return typeof found === "string" ? found : "unknown";
}
