import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = "belay-rlm";

/** The version in Belay's package.json, which lies above this module: two folders in a checkout, three in a build. */
export function version(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (; dirname(folder) !== folder; folder = dirname(folder)) {
    const { name, version: found } = factsIn(join(folder, "package.json"));
    if (name === PACKAGE && typeof found === "string") return found;
  }
  return "unknown";
}

/** A folder on the way may have a package.json of its own, or none. */
function factsIn(path: string): { readonly name?: unknown; readonly version?: unknown } {
  try {
    return Object(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return {};
  }
}
