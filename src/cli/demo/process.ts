import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { entryUrl } from "../../entries.ts";

/** A command that the demo runs as a process of its own. */
export interface DemoProcess {
  readonly child: ChildProcess;
  /** Its end: what it printed, and the exit code; null if a signal ended it. */
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
}

/** Starts `belay` with these arguments in the demo's folder. It is killed when the signal aborts. */
export function startBelay(args: readonly string[], folder: string, signal: AbortSignal): DemoProcess {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(entryUrl("cli/main")), ...args], {
    cwd: folder,
    env: environment(folder),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const kill = () => child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<Awaited<DemoProcess["ended"]>>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  }).finally(() => signal.removeEventListener("abort", kill));
  if (signal.aborted) kill();
  return { child, ended };
}

const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/** The user's settings, sessions, keys and proxies have nothing to do with the demo. */
function environment(folder: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("BELAY_") && !PROXIES.includes(name.toUpperCase()),
  );
  return {
    ...Object.fromEntries(kept),
    BELAY_HOME: join(folder, "home"),
    XDG_CONFIG_HOME: join(folder, "config"),
    PI_CODING_AGENT_DIR: join(folder, "pi"),
  };
}
