import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

export interface Finished {
  /** Exit status; null if a signal ended the process. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Both streams as they came. */
  readonly output: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  /** On Windows the arguments are words of a line that is passed on as it is. */
  readonly windowsVerbatimArguments?: boolean;
}

/** Runs a program to its end without input. Rejects only if it cannot be started. */
export function run(program: string, args: readonly string[], options: RunOptions): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const [file, words] = onWindows(program, args);
    const child = spawn(file, words, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    const text = { stdout: "", stderr: "", output: "" };
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream].setEncoding("utf8").on("data", (chunk: string) => {
        text[stream] += chunk;
        text.output += chunk;
      });
    }
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...text }));
  });
}

/** Programs of npm are scripts of cmd there, which start through a shell alone: npm itself is a program of Node. */
function onWindows(program: string, args: readonly string[]): [string, readonly string[]] {
  const { npm_execpath: npm } = process.env;
  const isNpm = process.platform === "win32" && program === "npm" && npm !== undefined;
  return isNpm ? [process.execPath, [npm, ...args]] : [program, args];
}

/** Does what `run` does, and throws if the program fails. */
export async function mustRun(program: string, args: readonly string[], options: RunOptions): Promise<Finished> {
  const finished = await run(program, args, options);
  if (finished.code === 0) return finished;
  throw new Error(`${program} ${args.join(" ")} ended with ${finished.code}\n${finished.output}`);
}

/** A port on loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port }: { readonly port?: unknown } = Object(server.address());
  server.close();
  return Number(port);
}
