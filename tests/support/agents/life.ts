import { type ChildProcess, spawn } from "node:child_process";
import { COMMAND, COMPILED } from "../command.ts";

/** A process of the command that may be killed. */
export interface WorkflowLife {
  readonly child: ChildProcess;
  readonly end: Promise<LifeEnd>;
  isOver(): boolean;
  /** All that it has printed to stderr so far. */
  said(): string;
}

/** How a process of the command ended. */
export interface LifeEnd {
  /** Exit code; null if a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Longer than any round takes on a busy machine. */
const HANGS_MS = 120_000;

/** Where a process of the command is started. */
export interface LifePlace {
  readonly folder: string;
  /** Folder of the user's configuration. */
  readonly home: string;
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts `belay ARGS` in a folder. */
export function startLife(args: readonly string[], { folder, home, env: more }: LifePlace): WorkflowLife {
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED, BELAY_HOME: home, ...more };
  const child = spawn(process.execPath, [...COMMAND, ...args], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const texts = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      texts[stream] += text;
    });
  let isOver = false;
  const end = new Promise<LifeEnd>((resolve, reject) => {
    const late = setTimeout(() => {
      texts.stderr += `\nit was killed after ${HANGS_MS} ms`;
      child.kill("SIGKILL");
    }, HANGS_MS);
    child.on("error", reject);
    child.on("close", (code) => {
      isOver = true;
      clearTimeout(late);
      resolve({ code, ...texts });
    });
  });
  return { child, end, isOver: () => isOver, said: () => texts.stderr };
}
