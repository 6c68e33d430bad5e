import { chmodSync, existsSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { entryUrl } from "../entries.ts";
import { homeFolder } from "../platform/home.ts";
import { makeFolder } from "../platform/make-folder.ts";

/** Prepares a process that runs commands, before the rest of the program is imported. */
export function prepareProcess({ env, stderr }: NodeJS.Process): void {
  silenceSdks(env);
  consoleToStderr(stderr);
  keepCompiledModules(env);
}

/** Time for what is left to close after a command, ms. */
const CLOSING_MS = 1000;

/**
 * Ends a process whose work is done: what keeps it alive any longer is a connection that the other
 * side holds open.
 */
export function endProcess({ stdout, stderr, exit }: NodeJS.Process): void {
  const isWritten = () => stdout.writableLength + stderr.writableLength === 0;
  const end = () => (isWritten() ? exit() : endLater());
  const endLater = () => void setTimeout(end, CLOSING_MS).unref();
  endLater();
  // Nothing is left to wait for. Node would free all memory first, which takes some ms.
  process.once("beforeExit", () => exit());
}

/** Commands that run cells. */
const NEED_MACHINE: ReadonlySet<string> = new Set(["ask", "exec", "query", "repl", "resume", "search"]);

/**
 * Starts the thread of the machine that a command will need, while the command itself is still
 * being loaded.
 */
export async function startMachine([command = "", ...rest]: readonly string[]): Promise<void> {
  if (!NEED_MACHINE.has(command) || rest.includes("--help") || rest.includes("-h")) return;
  const { processMachines } = await import("../../runtime/index.ts");
  processMachines({ isBrief: true }).warm(entryUrl("machine-thread-entry"));
}

/**
 * Keeps compiled modules in the store folder, if there is one: the next command starts in half the
 * time. Node's own place for them is the folder of temporary files, where another user might put
 * other code in their place.
 */
function keepCompiledModules(env: NodeJS.ProcessEnv): void {
  const folder = homeFolder(env);
  if (!existsSync(folder) || module.getCompileCacheDir?.() !== undefined) return;
  const compiled = join(folder, "compiled");
  try {
    // Node would make it too, but would try forever in a folder such as /proc.
    makeFolder(compiled);
    // Code is run from there. Earlier builds left its permissions to the umask.
    chmodSync(compiled, 0o700);
  } catch {
    return;
  }
  // It reports a folder that cannot be written by its answer.
  module.enableCompileCache?.(compiled);
  // Threads and the processes of the demo read it as they start.
  env.NODE_COMPILE_CACHE = compiled;
}

/**
 * Keeps the SDKs of providers from printing parts of answers on stderr. `OPENAI_LOG=debug` and the
 * like still count.
 */
function silenceSdks(env: NodeJS.ProcessEnv): void {
  env.OPENAI_LOG ??= "off";
  env.ANTHROPIC_LOG ??= "off";
}

/**
 * Prints on stderr what SDKs of providers log: stdout belongs to results, and to the client of
 * `belay mcp`.
 */
function consoleToStderr(stderr: NodeJS.WritableStream): void {
  Object.assign(console, new console.Console({ stdout: stderr, stderr }));
}
