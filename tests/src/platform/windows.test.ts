import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isNetworkPath } from "../../../src/platform/paths.ts";
import { programFile, startable } from "../../../src/platform/programs.ts";
import { nameProblem } from "../../../src/platform/result-file.ts";
import { folderLine, inTurn, savedAs, shellWord, variableLine } from "../../../src/platform/shell-word.ts";
import { folderWith } from "../../support/tree.ts";

// Pure rules of Windows, on any system. `npm run verify -- windows` tries the package there.

test("a word is one that PowerShell reads, and cmd too unless it needs an escape or has a dollar", () => {
  const words = {
    "C:\\data\\a-1.txt": "C:\\data\\a-1.txt",
    "C:\\my data\\": '"C:\\my data\\\\"',
    "a,b": '"a,b"',
    "@list": '"@list"',
    "run@1": "run@1",
    "--view=a.html": "--view=a.html",
    "-a.b": '"-a.b"',
    "it's": `"it's"`,
    "a & b | c > d ^ e": '"a & b | c > d ^ e"',
    "": '""',
    "50$ `now`": "'50$ `now`'",
    'say "it’s"': `'say "it’’s"'`,
    "two\nlines of $x in C:\\new": '"two`u{a}lines of `$x in C:\\new"',
    "\u202egnp.exe": '"`u{202e}gnp.exe"',
  };
  expect(Object.keys(words).map((text) => shellWord(text, "win32"))).toEqual(Object.values(words));
  expect(folderLine("C:\\new folder", "win32")).toBe('mkdir "C:\\new folder"');
  expect(folderLine("/new folder", "linux")).toBe("mkdir -p '/new folder'");
});

test("lines that do more than start a program are those of PowerShell there, and of a POSIX shell elsewhere", () => {
  const lines = ["mkdir a", "tar -xf b"];
  const url = "https://example.com/a b.pdf?x=1";
  const on = (platform: NodeJS.Platform) => [
    inTurn(lines, platform),
    variableLine("BELAY_MODEL", "openai/gpt-5", platform),
    variableLine("A", "two words", platform),
    variableLine("TOKEN", null, platform),
    savedAs(url, platform)?.line,
  ];
  expect(on("linux")).toEqual([
    "mkdir a && tar -xf b",
    "export BELAY_MODEL=openai/gpt-5",
    "export A='two words'",
    "export TOKEN=$(openssl rand -hex 24)",
    "curl -fL 'https://example.com/a b.pdf?x=1' -o a%20b.pdf",
  ]);
  expect(on("win32")).toEqual([
    "mkdir a; tar -xf b",
    '$env:BELAY_MODEL = "openai/gpt-5"',
    '$env:A = "two words"',
    `$env:TOKEN = node -p "crypto.randomBytes(24).toString('hex')"`,
    'curl.exe -fL "https://example.com/a b.pdf?x=1" -o "a%20b.pdf"',
  ]);
});

test("paths to other computers and to devices of Windows are told by their beginning", () => {
  const paths = ["\\\\host\\share\\a.txt", "//host/share", "\\\\.\\pipe\\x", "C:\\a", "\\a", "a"];
  expect(paths.filter((path) => isNetworkPath(path, "win32"))).toEqual(paths.slice(0, 3));
  expect(isNetworkPath("//host/share", "linux")).toBe(false);
});

test("names that only Node can make on Windows are no results there", () => {
  const device = "on Windows it is the name of a device";
  const end = "on Windows no name ends with a dot or a space";
  const names = {
    "C:\\out\\NUL": device,
    "aux.json": device,
    "com1.tar.gz": device,
    "LPT\u00b2": device,
    "con .txt": device,
    "out/result.": end,
    "result.json ": end,
    "result.json:part": "on Windows no name has a colon",
    "console.json": null,
    "C:\\nul\\out.json": null,
    com10: null,
  };
  expect(Object.keys(names).map((name) => nameProblem(name, "win32"))).toEqual(Object.values(names));
  expect(nameProblem("/tmp/aux.json ", "linux")).toBe(null);
});

/** As cmd-shim writes it for a script, and for a program. */
const shim = (target: string) => `@ECHO off\r
SET "_prog=node"\r
endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & "%_prog%"  "%dp0%\\..\\${target}" %*\r
`;

test("a .cmd file of npm starts its script or program, and another one is refused by name", () => {
  const folder = folderWith({
    "bin/claude.cmd": shim("lib\\cli.js"),
    "bin/fast.cmd": `@"%~dp0\\..\\lib\\fast.exe"   %*\r\n`,
    "bin/own.cmd": "@echo %1\r\n",
    "bin/tool.exe": "",
  });
  const env = { Path: join(folder, "bin") };
  for (const name of ["claude.cmd", "fast.cmd", "own.cmd", "tool.exe"]) chmodSync(join(folder, "bin", name), 0o755);
  const started = (program: string) => startable([program, "-p", "a & b"], env, "win32");
  expect(started("claude")).toEqual([process.execPath, join(folder, "lib/cli.js"), "-p", "a & b"]);
  expect(started("fast.cmd")).toEqual([join(folder, "lib/fast.exe"), "-p", "a & b"]);
  expect(started("tool")).toEqual(["tool", "-p", "a & b"]);
  expect(() => started("own")).toThrow(
    `${join(folder, "bin/own.cmd")} is a script of cmd, which starts through a shell`,
  );
  expect([programFile("tool", env, "win32"), programFile("none", env, "win32")]).toEqual([
    join(folder, "bin/tool.exe"),
    null,
  ]);
});
