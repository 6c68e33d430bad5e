import { readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";

/** Writes the licenses of the packages that these modules come from: a bundle that contains them must show them. */
export async function writeLicenses(folder: string, modules: readonly string[]): Promise<void> {
  const texts = await Promise.all(packagesOf(modules).map(licenseIn));
  await writeFile(join(folder, "THIRD-PARTY-LICENSES.txt"), texts.join("\n"));
}

/** Folders of the packages, each once. */
function packagesOf(modules: readonly string[]): readonly string[] {
  const folders = modules.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].sort();
}

async function licenseIn(folder: string): Promise<string> {
  const file = (await readdir(folder)).find((name) => /^licen[cs]e/i.test(name));
  if (file === undefined) return await named(folder);
  return `${basename(folder)}\n\n${await readFile(join(folder, file), "utf8")}\n`;
}

/** Names the author and the license of a package that has no license file, by its package.json. */
async function named(folder: string): Promise<string> {
  const { license, author, repository } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  if (typeof license !== "string")
    throw new Error(`${folder} names no license: its code cannot become part of the bundle`);
  return `${basename(folder)}\n\n${license}, ${JSON.stringify(author ?? repository ?? "")}\n`;
}
