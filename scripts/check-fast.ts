import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { mustRun, ROOT } from "./process.ts";

// The checks of a minute: lint, types, layers, and the tests of the folders that changed since the last commit, or in the last
// commit if nothing has changed since. `npm run check` is what must be green before a change is merged.

const ALWAYS = ["tests/docs/layers.test.ts", "tests/docs/house.test.ts", "tests/docs/english.test.ts"];

const git = (...args: string[]) =>
  execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).split("\n").filter(Boolean);

/** Files that have changed: paths from the root of the checkout. */
function changedFiles(): string[] {
  const since = [...git("diff", "--name-only", "HEAD"), ...git("ls-files", "--others", "--exclude-standard")];
  return since.length > 0 ? since : git("diff", "--name-only", "HEAD~1", "HEAD");
}

/** The tests that mirror a file: its own, or those of the nearest folder above that has some. */
export function testsOf(file: string): string | null {
  if (file.startsWith("tests/")) return file.endsWith(".test.ts") ? file : null;
  if (file.endsWith(".md") || file === "package.json") return "tests/docs";
  if (!/^(?:src|runtime|builtins)\//.test(file)) return null;
  const own = `tests/${file.replace(/\.(?:ts|js)$/, ".test.ts")}`;
  if (existsSync(`${ROOT}/${own}`)) return own;
  let folder = dirname(`tests/${file}`);
  while (!existsSync(`${ROOT}/${folder}`)) folder = dirname(folder);
  return folder === "tests" || folder === "tests/src" ? null : folder;
}

/** Test paths without those that lie in another one. */
export function outermost(paths: Iterable<string>): string[] {
  const all = [...new Set(paths)];
  return all.filter((path) => !all.some((other) => path.startsWith(`${other}/`))).sort();
}

if (import.meta.main) {
  const tests = outermost([...ALWAYS, ...changedFiles().flatMap((file) => testsOf(file) ?? [])]);
  const steps: readonly (readonly [program: string, ...args: string[]])[] = [
    ["biome", "check", "--error-on-warnings"],
    ["tsc", "--noEmit"],
    ["vitest", "run", "--reporter=dot", ...tests],
  ];
  for (const [program, ...args] of steps) {
    console.log(`${program} ${args.join(" ")}`);
    try {
      await mustRun(program, args, { cwd: ROOT });
    } catch (error) {
      console.error(error instanceof Error ? error.message : error);
      process.exit(1);
    }
  }
}
