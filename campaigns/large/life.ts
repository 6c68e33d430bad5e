import { spawn } from "node:child_process";
import { COMMAND, COMPILED } from "../../tests/support/command.ts";

/** How a process of the command ended. */
export interface LargeLife {
  /** Exit code; null if a signal ended it. */
  readonly code: number | null;
  /** True if it was killed before its end. */
  readonly isKilled: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

/** What a process of the command is started with. */
interface LifeOptions {
  readonly args: readonly string[];
  /** Arguments of node that make it the command; absent: those of `COMMAND`. */
  readonly command?: readonly string[] | undefined;
  /** Folder of the store. */
  readonly home: string;
  /** When it is killed, ms after its start; absent: it runs to its end. */
  readonly killAfterMs?: number;
}

/** Runs the command, and kills it in the middle if it was asked to. */
export function largeLife({ args, command = COMMAND, home, killAfterMs }: LifeOptions): Promise<LargeLife> {
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED, BELAY_HOME: home };
  const started = performance.now();
  const child = spawn(process.execPath, [...command, ...args], { cwd: home, env, stdio: ["ignore", "pipe", "pipe"] });
  const texts = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      texts[stream] += text;
    });
  const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, isKilled: signal === "SIGKILL", ...texts, ms: performance.now() - started });
    });
  });
}
