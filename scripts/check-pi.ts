import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { newUserOf } from "../tests/support/pi/installed.ts";
import { PI_LINES, type PiLine } from "../tests/support/pi/process.ts";
import { install, installPacked } from "./package.ts";
import { checkFork } from "./pi-fork.ts";
import { mustRun, ROOT } from "./process.ts";

// The packed package in a Pi: in one that is a development dependency, or in one that cannot be. npm
// does not install the latter, because it needs packages that are not published; its bundled command
// needs two packages beside it. The scenes of tests/e2e are then played in it.
// Usage: npm run verify -- pi 1.6.0
// Or in a fork of Pi, such as Prime Agent, whose command is named: npm run verify -- pi --host node_modules/prime-agent/dist/bundle/cli.js

const BESIDE = ["jiti", "typebox"];
/** Scenes at once. Each starts several Pis, and one that says nothing for two minutes fails. */
const WORKERS = 2;

const [, , version = "1.6.0", command] = process.argv;
if (version === "--host" && command === undefined) throw new Error("--host takes the path of the host's command");
const folder = await mkdtemp(join(tmpdir(), "belay-pi-newest-"));
try {
  if (version === "--host" && command !== undefined) {
    await checkFork(resolve(command), await installPacked(folder));
  } else {
    const line = PI_LINES.find((one) => one.version === version) ?? (await unpacked(version));
    await check(line, await installPacked(folder));
    await playScenes(line);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function unpacked(version: string): Promise<PiLine> {
  const spec = `@earendil-works/pi-coding-agent@${version}`;
  const { stdout } = await mustRun("npm", ["pack", "--silent", spec], { cwd: folder });
  await mustRun("tar", ["xzf", stdout.trim()], { cwd: folder });
  const { dependencies } = JSON.parse(await readFile(join(folder, "package/package.json"), "utf8"));
  await install(folder, ...BESIDE.map((name) => `${name}@${dependencies[name]}`));
  return { version, command: join(folder, "package/dist/bundle/cli.js") };
}

/** Plays the scenes of sessions that are killed, left, forked and compacted, in this Pi. */
async function playScenes({ version, command }: PiLine): Promise<void> {
  const env = { ...process.env, BELAY_PI_LINE: `${version}=${command}` };
  await mustRun("vitest", ["run", `--maxWorkers=${WORKERS}`, "tests/e2e/pi-"], { cwd: ROOT, env });
  console.log(`Pi ${version} plays the scenes of tests/e2e`);
}

async function check(line: PiLine, belay: string): Promise<void> {
  await using user = await newUserOf(line, belay);
  const { printed, prompt, envelope } = await user.prompt();
  const said = JSON.stringify({ ...printed, envelope }, null, 2);
  if (printed.stderr !== "") throw new Error(`Pi ${line.version} warns:\n${said}`);
  if (printed.stdout !== `done: ${prompt}\n` || !("success" in envelope && envelope.success === true)) {
    throw new Error(`Pi ${line.version} does not work with it:\n${said}`);
  }
  const screen = await user.startScreen();
  if (!/^\[Extensions\]\n {2}belay\n\n/m.test(screen) || screen.includes("[Extension issues]")) {
    throw new Error(`Pi ${line.version} does not list it as belay, or lists issues:\n${screen}`);
  }
  console.log(`Pi ${line.version} installs belay, lists it, warns of nothing, and runs its tools`);
}
