import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mustRun, ROOT } from "./process.ts";

/** Builds and packs the checkout as npm would publish it. Answers the tarball's path, within `folder`. */
export function pack(folder: string): Promise<string> {
  return packWith([], folder);
}

/** As `pack`, without the types: for those who only run what is installed. */
export async function packWithoutTypes(folder: string): Promise<string> {
  await mustRun(process.execPath, ["scripts/build.ts", "--no-types"], { cwd: ROOT });
  return await packWith(["--ignore-scripts"], folder);
}

async function packWith(flags: readonly string[], folder: string): Promise<string> {
  await mustRun("npm", ["pack", ...flags, "--pack-destination", folder], { cwd: ROOT });
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz"));
  if (tarball === undefined) throw new Error(`npm pack left no tarball in ${folder}`);
  return join(folder, tarball);
}

/** Packs the checkout and installs it into a new folder `user` of this one. Answers the folder of the installed package. */
export async function installPacked(folder: string): Promise<string> {
  const user = join(folder, "user");
  await mkdir(user);
  await install(user, await pack(folder));
  return join(user, "node_modules/belay-rlm");
}

/** Installs packages into a folder as a user would. */
export async function install(cwd: string, ...specs: readonly string[]): Promise<void> {
  await writeFile(join(cwd, "package.json"), JSON.stringify({ private: true }));
  await mustRun("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", ...specs], { cwd });
}
