import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { entryUrl } from "../../entries.ts";
import type { Json } from "../../index.ts";
import { onceAborted } from "../../platform/signals.ts";
import { commandLine } from "../flags/usage.ts";
import type { Host } from "../host.ts";
import { paragraph } from "../render/table.ts";
import type { Output, Style } from "../render/terminal.ts";
import type { Stop } from "../stop.ts";
import { LETTERS } from "./text.ts";

/** The store and terminal of a demo. */
export interface Stage {
  /** Gets the letters, the cell and the store. */
  readonly folder: string;
  readonly host: Host;
  readonly stop: Stop;
  /** null: nothing is told while it runs. */
  readonly output: Output | null;
}

/** The name under which the scripted model is asked. */
export const MODEL = "scripted/reader";

export function writeLetters(folder: string): void {
  mkdirSync(join(folder, "letters"));
  for (const [name, text] of Object.entries(LETTERS)) writeFileSync(join(folder, "letters", name), `${text}\n`);
}

/** Runs a command to its end, which must be a success; shows it and what it printed. Gives its result. */
export async function succeeded(args: readonly string[], { folder, stop, output }: Stage): Promise<Json> {
  showCommand(commandLine(args), output);
  const { code, stdout, stderr } = await startBelay(args, folder, stop.signal).ended;
  stop.signal.throwIfAborted();
  if (code !== 0) throw broken(`\`${commandLine(args)}\` ended with ${code}: ${stderr || stdout}`);
  output?.write(stderr, "dim");
  output?.write(stdout);
  return JSON.parse(stdout);
}

export function showCommand(line: string, output: Output | null): void {
  output?.write(`$ ${line}\n`, "cyan");
}

const WIDEST = 100;

export function say(text: string, output: Output | null, style?: Style): void {
  output?.write(`${paragraph(text, Math.min(output.columns, WIDEST))}\n`, style);
}

export function broken(problem: string): Error {
  return new Error(`the demo did not come to its end: ${problem}`);
}

/**
 * Starts `belay` with these arguments in the demo's folder. It is killed when the signal aborts. `ended` has its output and its exit
 * code, which is null if a signal ended it.
 */
export function startBelay(args: readonly string[], folder: string, signal: AbortSignal) {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(entryUrl("cli/main")), ...args], {
    cwd: folder,
    env: environment(folder),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const kill = () => child.kill("SIGKILL");
  const callOff = onceAborted(signal, kill);
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
    .then(([stdout, stderr]) => ({ code: child.exitCode, stdout, stderr }))
    .finally(callOff);
  return { child, ended };
}

const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/** The user's settings, sessions, keys and proxies have nothing to do with the demo. */
function environment(folder: string): NodeJS.ProcessEnv {
  const isKept = (name: string) => !name.startsWith("BELAY_") && !PROXIES.includes(name.toUpperCase());
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => isKept(name))),
    BELAY_HOME: join(folder, "home"),
    XDG_CONFIG_HOME: join(folder, "config"),
    PI_CODING_AGENT_DIR: join(folder, "pi"),
  };
}
