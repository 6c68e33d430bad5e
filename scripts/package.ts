import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { mustRun, ROOT } from "./process.ts";

/** Builds and packs the checkout as npm would publish it. Answers the tarball's path, within `folder`. */
export async function pack(folder: string): Promise<string> {
  await mustRun("npm", ["pack", "--pack-destination", folder], { cwd: ROOT });
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz"));
  if (tarball === undefined) throw new Error(`npm pack left no tarball in ${folder}`);
  return join(folder, tarball);
}
