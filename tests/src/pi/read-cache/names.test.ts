import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mustRun } from "../../../../scripts/process.ts";
import { canName, isSensitive, readPath, readTextFile } from "../../../../src/pi/read-cache/file.ts";

import { suffixOf } from "../../../../src/pi/read-cache/texts.ts";
import { folderWith } from "../../../support/tree.ts";

test.for([
  ...[".env", ".env.local", "Server.PEM", "id_rsa", "id_ed25519.pub", "x.key", ".npmrc", "credentials.json"],
  ...["auth.json", ".mcp.json", "mcp.json", "mcp_config.json", ".claude/settings.json", "opencode.jsonc"],
])("%s is never looked at", (name) => {
  expect(isSensitive(join("/p", name), [])).toBe(true);
});

test("files in folders of secrets are never looked at, and others are", () => {
  for (const folder of [".ssh", ".gnupg", ".aws"]) expect(isSensitive(`/home/ada/${folder}/config`, [])).toBe(true);
  for (const name of ["environment.ts", "key.ts", "auth.json.ts", "notes.env"])
    expect(isSensitive(name, [])).toBe(false);
});

test("further names may have stars, and take no longer for having many", () => {
  expect(isSensitive("/p/secret-7.txt", ["secret-*.txt"])).toBe(true);
  expect(isSensitive("/p/secret.txt", ["secret-*.txt"])).toBe(false);
  expect(isSensitive(`/p/${"a".repeat(250)}`, [`${"*a".repeat(49)}b`])).toBe(false);
});

test("files are found as Pi finds them", async () => {
  const folder = folderWith({ "a.txt": "a", "Shot 1.23.45\u202fPM.png": "s", "d\u2019or.txt": "q", "sp ace.txt": "u" });
  const names: readonly (readonly [string, string])[] = [
    ["a.txt", "a.txt"],
    ["@a.txt", "a.txt"],
    ["./x/../a.txt", "a.txt"],
    ["Shot 1.23.45 PM.png", "Shot 1.23.45\u202fPM.png"],
    ["d'or.txt", "d\u2019or.txt"],
    ["sp\u00a0ace.txt", "sp ace.txt"],
    ["missing.txt", "missing.txt"],
  ];
  for (const [named, file] of names) {
    expect(await readPath(named, folder)).toBe(join(folder, file));
    expect(canName(named, folder, join(folder, file))).toBe(true);
  }
  expect(await readPath("~/x", folder)).toBe(join(homedir(), "x"));
  expect(await readPath(`file://${folder}/a.txt`, folder)).toBe(join(folder, "a.txt"));
});

test("only text files of a bounded size are read, and a link to a secret is one", async () => {
  const folder = folderWith({ "a.txt": "\ufeffone\r\n", ".env": "KEY=1" });
  expect((await readTextFile(join(folder, "a.txt"), []))?.text).toBe("\ufeffone\r\n");
  writeFileSync(join(folder, "latin1.txt"), Buffer.from([0x61, 0xe9]));
  writeFileSync(join(folder, "large.txt"), Buffer.alloc(10 * 1024 * 1024 + 1, 97));
  mkdirSync(join(folder, "d"));
  symlinkSync(join(folder, ".env"), join(folder, "link.txt"));
  await mustRun("mkfifo", [join(folder, "pipe")], { cwd: folder });
  for (const name of ["latin1.txt", "large.txt", "d", "link.txt", "pipe", "none", ".env"]) {
    expect(await readTextFile(join(folder, name), []), name).toBeNull();
  }
  expect(await readTextFile(join(folder, "a.txt"), ["a.*"])).toBeNull();
});

test("lines at the end of a path", () => {
  expect(suffixOf("a.txt:7")).toEqual({ path: "a.txt", offset: 7, limit: 1, problem: null });
  expect(suffixOf("a:b.txt:2-4")).toEqual({ path: "a:b.txt", offset: 2, limit: 3, problem: null });
  const problem = "Invalid range 3-2 in a.txt:3-2: lines count from 1, and the end is not before the start";
  expect(suffixOf("a.txt:3-2")?.problem).toBe(problem);
  expect(suffixOf("a.txt:0")?.problem).toContain("Invalid range 0 in a.txt:0");
  for (const path of ["a.txt", "a.txt:", "a.txt:b", ":3", "a.txt:3-"]) expect(suffixOf(path)).toBeNull();
});
