import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { mustRun, run } from "./process.ts";
import { cutSection, isVersion, sectionOf } from "./release/changelog.ts";

// Cuts a version: its section of CHANGELOG.md gets its date, package.json and package-lock.json get its number, and a commit
// with a tag keeps both. Nothing is pushed or published: the tag does that when it is pushed, by .github/workflows/release.yml.

const USAGE = `npm run release -- VERSION         make the commit and the tag
       npm run release -- --dry VERSION    say what would be made, and change nothing
       npm run release -- --check TAG      fail if the checkout is not what this tag names`;

const cwd = process.cwd();

try {
  const { values, positionals } = read();
  const version = positionals[0]?.replace(/^v/, "") ?? "";
  if (positionals.length !== 1 || !isVersion(version))
    throw new Error(`name one version, such as 0.1.0\nusage: ${USAGE}`);
  if (values.check) checkTagged(version);
  else await release(version, values.dry);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

function read() {
  const options = { dry: { type: "boolean", default: false }, check: { type: "boolean", default: false } } as const;
  try {
    return parseArgs({ allowPositionals: true, options });
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\nusage: ${USAGE}`);
  }
}

/** @throws Error before anything is changed */
async function release(version: string, isDry: boolean): Promise<void> {
  const { stdout: changes } = await mustRun("git", ["status", "--porcelain"], { cwd });
  if (changes !== "") throw new Error(`the working tree has changes: commit or drop them first\n${changes.trimEnd()}`);
  const tag = `v${version}`;
  if ((await run("git", ["rev-parse", "--verify", "--quiet", `refs/tags/${tag}`], { cwd })).code === 0)
    throw new Error(`the tag ${tag} already exists: a version is released once; name the next one`);
  const today = new Date().toISOString().slice(0, 10);
  const changelog = cutSection(textOf("CHANGELOG.md"), version, today);
  console.log(`${tag}\n\n${sectionOf(changelog, version)}\n`);
  if (isDry) return console.log(`This was a dry run. To make it: npm run release -- ${version}`);
  writeFileSync(join(cwd, "CHANGELOG.md"), changelog);
  await mustRun("npm", ["version", version, "--no-git-tag-version", "--allow-same-version"], { cwd });
  await mustRun("git", ["commit", "--all", "--message", `Version ${version}`], { cwd });
  await mustRun("git", ["tag", "--annotate", tag, "--message", `Version ${version}`], { cwd });
  console.log(`Made the commit and the tag. To publish it: git push --follow-tags`);
}

/** @throws Error if package.json or CHANGELOG.md is of another version */
function checkTagged(version: string): void {
  const { version: own }: { version?: unknown } = JSON.parse(textOf("package.json"));
  if (own !== version) throw new Error(`package.json is of version ${own}, and the tag names ${version}`);
  if (!/ - \d{4}-\d\d-\d\d$/m.test(sectionOf(textOf("CHANGELOG.md"), version).split("\n", 1)[0] ?? ""))
    throw new Error(`the section of ${version} in CHANGELOG.md has no date: npm run release gives it one`);
  console.log(`the checkout is version ${version}`);
}

function textOf(name: string): string {
  return readFileSync(join(cwd, name), "utf8");
}
