import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The pg-boss of this build: other versions have other tables and compare other things. */
export const PG_BOSS_VERSION = "12.35.0";

/**
 * Says how the packages of a store on a server are installed where this copy of Belay finds them.
 * npx has a folder for each list of packages, a project has a package.json, and the folder of
 * global packages has none.
 *
 * @param module a file of this copy
 */
export function serverPackagesCure(module = fileURLToPath(import.meta.url), exists = existsSync): string {
  const packages = ["pg", `pg-boss@${PG_BOSS_VERSION}`];
  const [, folder] = /^(.+?)[\\/]node_modules[\\/]/.exec(module) ?? [];
  if (folder === undefined) return "Run `npm ci` in the checkout of Belay.";
  if (/[\\/]_npx$/.test(dirname(folder))) {
    return `Start Belay by \`npx ${["belay-rlm", ...packages].map((name) => `-p ${name}`).join(" ")} belay\`.`;
  }
  if (exists(join(folder, "package.json"))) return `Run \`npm install ${packages.join(" ")}\` in ${folder}.`;
  return `Run \`npm install -g ${packages.join(" ")}\`.`;
}
