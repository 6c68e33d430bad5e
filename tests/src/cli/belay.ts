import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, vi } from "vitest";
import { COMMAND, COMPILED } from "../../support/command.ts";
import type { ModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";

/** Variables for a command. */
export const ENV = { ...process.env, NODE_COMPILE_CACHE: COMPILED };

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What it printed, as JSON. */
export const json = ({ stdout }: Pick<Run, "stdout">) => JSON.parse(stdout);

/** The JSON of each line that it printed. */
export const jsonLines = ({ stdout }: Pick<Run, "stdout">) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

/** A run with this exit code that printed these words on stderr. */
export const said = (code: number, words: string) => ({ code, stderr: expect.stringContaining(words) });

export interface RunOptions {
  readonly cwd?: string;
  /** All of stdin; without it stdin is empty. */
  readonly input?: string | Uint8Array;
  /** Store folder; default: one of the run's own, which does not exist yet. */
  readonly home?: string;
  /** Variables beside those of the test. */
  readonly env?: Readonly<Record<string, string>>;
  /** Given the process and what it has printed so far, at every piece of output. */
  readonly onOutput?: (child: ChildProcess, stdout: string, stderr: string) => void;
}

/** Runs the real command to its end. */
export async function belay(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const child = startBelay(args, options);
  child.stdin?.on("error", () => {});
  child.stdin?.end(options.input ?? "");
  return finished(child, options.onOutput);
}

/** Starts the command with stdin left open. */
export function startBelay(args: readonly string[], { cwd, home, env: more }: RunOptions = {}): ChildProcess {
  const env = { ...ENV, BELAY_HOME: home ?? join(folderWith(), "home"), ...more };
  return spawn(process.execPath, [...COMMAND, ...args], { ...(cwd === undefined ? {} : { cwd }), env });
}

/** Runs until the server has so many requests more, then sends the signal. */
export async function endedAt(
  server: ModelServer,
  more: number,
  signal: NodeJS.Signals,
  args: readonly string[],
  options: RunOptions,
): Promise<Run> {
  const target = server.requests.length + more;
  const child = startBelay(args, options);
  child.stdin?.end();
  const run = finished(child);
  while (server.requests.length < target && child.exitCode === null) await setTimeout(10);
  child.kill(signal);
  return run;
}

export function finished(child: ChildProcess, onOutput?: RunOptions["onOutput"]): Promise<Run> {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
    onOutput?.(child, stdout, stderr);
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
    onOutput?.(child, stdout, stderr);
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/** Resolves once a cell has searched for the first time, so that it runs: its search index is in the store folder. */
export async function untilSearched(home: string): Promise<void> {
  await vi.waitFor(() => expect(globSync("index/*.index", { cwd: home })).toHaveLength(1));
}

/** This program of util-linux runs a command on a terminal of its own. */
const SCRIPT = "script";
export const hasTerminal = spawnSync(SCRIPT, ["--version"]).status === 0;

/** Starts the command on a terminal without colours, which is its stdout and stderr. */
export function startOnTerminal(args: string, home = join(folderWith(), "home")): ChildProcessWithoutNullStreams {
  const env = { ...ENV, BELAY_HOME: home, TERM: "xterm", NO_COLOR: "1" };
  return spawn(SCRIPT, ["-qec", belayLine(args), "/dev/null"], { env });
}

/** A line for a shell that runs the command. */
export function belayLine(args: string): string {
  return `${[process.execPath, ...COMMAND].map((word) => `'${word}'`).join(" ")} ${args}`;
}
