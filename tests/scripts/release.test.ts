import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mustRun, ROOT, run } from "../../scripts/process.ts";
import { folderWith } from "../support/tree.ts";

// The script that cuts a version, over a repository of its own.

const SCRIPT = join(ROOT, "scripts/release.ts");
const CHANGELOG =
  "# Changelog\n\n## 0.2.0 (not released)\n\n- A cell can ask.\n\n## 0.1.0 - 2026-01-02\n\n- The first.\n";

async function repository(): Promise<string> {
  const cwd = folderWith({ "CHANGELOG.md": CHANGELOG, "package.json": `{ "name": "a", "version": "0.1.0" }` });
  await git(cwd, "init", "--quiet");
  await git(cwd, "config", "user.email", "nobody@example.invalid");
  await git(cwd, "config", "user.name", "Nobody");
  await git(cwd, "add", ".");
  await git(cwd, "commit", "--quiet", "--message", "Begin");
  return cwd;
}

const git = (cwd: string, ...args: string[]) => mustRun("git", args, { cwd });
const release = (cwd: string, ...args: string[]) => run(process.execPath, [SCRIPT, ...args], { cwd });

test("a dry release says what it would make, and changes nothing", async () => {
  const cwd = await repository();
  const { code, stdout } = await release(cwd, "--dry", "0.2.0");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^v0\.2\.0\n\n## 0\.2\.0 - \d{4}-\d\d-\d\d\n\n- A cell can ask\.\n\nThis was a dry run/);
  expect(readFileSync(join(cwd, "CHANGELOG.md"), "utf8")).toBe(CHANGELOG);
  expect((await git(cwd, "tag")).stdout).toBe("");
});

test("a release cuts the changelog, sets the version, commits and tags; it is made once", async () => {
  const cwd = await repository();
  expect((await release(cwd, "--check", "v0.2.0")).output).toContain("package.json is of version 0.1.0");
  expect(await release(cwd, "0.2.0")).toMatchObject({ code: 0 });
  expect(readFileSync(join(cwd, "CHANGELOG.md"), "utf8")).toMatch(/^## 0\.2\.0 - \d{4}-\d\d-\d\d$/m);
  expect(JSON.parse(readFileSync(join(cwd, "package.json"), "utf8")).version).toBe("0.2.0");
  expect((await git(cwd, "log", "--format=%s %D", "-1")).stdout).toMatch(/^Version 0\.2\.0 .*tag: v0\.2\.0/);
  expect((await git(cwd, "status", "--porcelain")).stdout).toBe("");
  expect(await release(cwd, "--check", "v0.2.0")).toMatchObject({ code: 0 });
  const again = await release(cwd, "--dry", "0.2.0");
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("the tag v0.2.0 already exists")]);
});

test("what cannot be released is refused by name", async () => {
  const cwd = await repository();
  const refused = async (changelog: string, ...args: string[]) => {
    writeFileSync(join(cwd, "CHANGELOG.md"), changelog);
    await git(cwd, "commit", "--quiet", "--all", "--allow-empty", "--message", "Change it");
    const { code, stderr } = await release(cwd, "--dry", ...args);
    expect(code).toBe(1);
    return stderr;
  };
  expect(await refused(CHANGELOG.replace("- A cell can ask.\n", ""), "0.2.0")).toContain(
    "the section of 0.2.0 is empty",
  );
  expect(await refused(CHANGELOG, "0.3.0")).toContain('its newest section is "0.2.0 (not released)"');
  expect(await refused(CHANGELOG, "0.1.0")).toContain('write what is new under "## 0.1.0 (not released)"');
  expect(await refused("# Changelog\n", "0.2.0")).toContain("it has no section");
  expect(await refused(CHANGELOG, "next")).toContain("name one version");
  expect(await refused(CHANGELOG, "0.2.0", "--force")).toContain("usage: npm run release");
  writeFileSync(join(cwd, "new.txt"), "");
  expect((await release(cwd, "--dry", "0.2.0")).stderr).toMatch(/^the working tree has changes.*new\.txt/s);
});
