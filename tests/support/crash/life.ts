import { spawn } from "node:child_process";
import { COMPILED, CRASHING_COMMAND } from "../command.ts";
import { CRASH_CHANNEL, CRASH_VARIABLE, type CrashPoint } from "./point.ts";

/** How a process is to end before its time. `random`: by a signal from outside, that long after it has opened its store. */
export type Kill =
  | ({ readonly how: "operation" } & CrashPoint)
  /** SIGINT asks it to suspend what runs. */
  | { readonly how: "random"; readonly ms: number; readonly signal: "SIGKILL" | "SIGINT" };

export interface LifeOptions {
  readonly cwd: string;
  /** Store folder. */
  readonly home: string;
  /** Goes to the model server with every request. */
  readonly key: string;
  readonly kill: Kill | null;
  /** Arguments of node that start the program; default: those of the command. */
  readonly command?: readonly string[];
}

/** What became of one process. */
export interface Life {
  /** Exit code; null where a signal ended it. */
  readonly code: number | null;
  /** By a signal, at once or by suspending what ran. */
  readonly interrupted: boolean;
  /** It did not end by itself and was killed for that. */
  readonly hung: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** The operations on the store that it began, as far as they write. */
  readonly operations: readonly string[];
  /** From the opening of the store to the end, ms. */
  readonly ms: number;
}

/** Longer than any program takes on a busy machine. */
const HANGS_MS = 60_000;

/** Exit code of a process that SIGINT has ended. */
const SUSPENDED = 130;

/** The variable that holds the model's key. */
export const KEY_VARIABLE = "BELAY_CRASH_KEY";

/** Runs the command, or another program, in a process of its own, and kills it as it was asked. */
export function live(
  args: readonly string[],
  { cwd, home, key, kill, command = CRASHING_COMMAND }: LifeOptions,
): Promise<Life> {
  const point = kill?.how === "operation" ? { [CRASH_VARIABLE]: JSON.stringify(kill) } : {};
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED, BELAY_HOME: home, [KEY_VARIABLE]: key, ...point };
  const child = spawn(process.execPath, [...command, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe", "pipe"] });
  const texts = { stdout: "", stderr: "", told: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    texts.stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    texts.stderr += text;
  });
  let hung = false;
  let openedAt: number | undefined;
  const timers = [
    setTimeout(() => {
      hung = true;
      child.kill("SIGKILL");
    }, HANGS_MS),
  ];
  child.stdio[CRASH_CHANNEL]?.on("data", (bytes: Buffer) => {
    texts.told += bytes.toString();
    if (openedAt !== undefined) return;
    openedAt = performance.now();
    if (kill?.how === "random") timers.push(setTimeout(() => child.kill(kill.signal), kill.ms));
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exit, by) => {
      // On Windows a process that kills itself ends with code 1 and without a word.
      const isKilled = by !== null || (process.platform === "win32" && exit === 1 && texts.stderr === "");
      const code = isKilled ? null : exit;
      for (const timer of timers) clearTimeout(timer);
      const { stdout, stderr, told } = texts;
      const operations = told.split("\n").filter((line) => line !== "" && line !== "store");
      const ms = openedAt === undefined ? 0 : performance.now() - openedAt;
      const interrupted = isKilled || code === SUSPENDED;
      resolve({ code, interrupted, hung, stdout, stderr, operations, ms });
    });
  });
}
