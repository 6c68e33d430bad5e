import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/process.ts";

/** What the tests' bundle is made of, and what makes it: packages are those of the lock file. */
const SOURCES = ["{src,runtime,builtins,bench,scripts,tests/support}/**/*.*", "*.json"];

let sources: string | undefined;

/** Does work that follows from the sources, unless a run before did it for the same ones. @param mark a file that says so */
export async function oncePerSources(mark: string, work: () => Promise<void>): Promise<void> {
  sources ??= hashOfSources();
  if (existsSync(mark) && readFileSync(mark, "utf8") === sources) return;
  rmSync(mark, { force: true });
  await work();
  writeFileSync(mark, sources);
}

/** Changes with the text or the name of a source, and with the version of Node. */
function hashOfSources(): string {
  const hash = createHash("sha256").update(process.version);
  const files = globSync(SOURCES, { cwd: ROOT, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const path of files.map(({ parentPath, name }) => join(parentPath, name)).sort())
    hash.update(`\0${path}\0`).update(readFileSync(path));
  return hash.digest("hex");
}
