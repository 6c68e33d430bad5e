import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort, mustRun } from "../process.ts";

/** The package of npm that carries the sources of llama.cpp. */
const SOURCES = "node-llama-cpp@3.22.1";

/** A built llama-server, and the tokenizers and chat templates that llama.cpp carries. */
export interface Llama {
  /** The path of `llama-server`. */
  readonly server: string;
  /** llama.cpp's folder `models`. */
  readonly models: string;
}

/**
 * Finds the server of llama.cpp, or builds it, which takes minutes and needs git, cmake and a C++ compiler.
 * @param folder where it is built and found again; BELAY_LLAMA names another
 */
export async function findLlama(folder = process.env.BELAY_LLAMA ?? defaultFolder()): Promise<Llama> {
  const sources = join(folder, "src");
  const llama = { server: join(sources, "build/bin/llama-server"), models: join(sources, "models") };
  if (existsSync(llama.server)) return llama;
  console.log(`builds llama-server in ${folder}`);
  await mkdir(folder, { recursive: true });
  const here = { cwd: folder };
  const { stdout } = await mustRun("npm", ["pack", "--silent", SOURCES], here);
  await mustRun("tar", ["xzf", stdout.trim(), "package/llama/gitRelease.bundle"], here);
  await rm(sources, { recursive: true, force: true });
  await mustRun("git", ["clone", "--quiet", "package/llama/gitRelease.bundle", "src"], here);
  const left = ["LLAMA_OPENSSL", "LLAMA_BUILD_TESTS", "LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_UI", "GGML_OPENMP"];
  const options = [...left, "BUILD_SHARED_LIBS"].map((name) => `-D${name}=OFF`);
  await mustRun("cmake", ["-B", "build", "-DCMAKE_BUILD_TYPE=Release", ...options], { cwd: sources });
  await mustRun("cmake", ["--build", "build", "--target", "llama-server", "-j2"], { cwd: sources });
  return llama;
}

function defaultFolder(): string {
  return join(homedir(), ".cache/belay-llama");
}

/** How a server is started. */
interface Served {
  /** The path of a GGUF file. */
  readonly model: string;
  /** Tokens of all slots together. */
  readonly context: number;
  readonly slots: number;
  /** The port on loopback; absent: a free one. */
  readonly port?: number;
}

/** A server that runs. */
export interface RunningServer extends AsyncDisposable {
  readonly port: number;
  /** The base URL, with `/v1`. */
  readonly url: string;
  /** The number of slots that compute an answer. */
  busySlots(): Promise<number>;
  /** Ends it by SIGKILL, and resolves when it is gone. */
  kill(): Promise<void>;
}

/** Starts a server, and resolves when it has loaded its model. @throws Error if it has not after 30 seconds */
export async function startServer({ server }: Llama, { model, context, slots, port }: Served): Promise<RunningServer> {
  const at = port ?? (await freePort());
  const sizes = ["-c", `${context}`, "-np", `${slots}`, "-t", "1"];
  const args = ["-m", model, "--host", "127.0.0.1", "--port", `${at}`, ...sizes, "--jinja", "--slots", "--no-webui"];
  const child = spawn(server, args, { stdio: "ignore" });
  const origin = `http://127.0.0.1:${at}`;
  await hasLoaded(child, origin);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return {
    port: at,
    url: `${origin}/v1`,
    async busySlots() {
      const slots: unknown = await (await fetch(`${origin}/slots`)).json();
      return Array.isArray(slots) ? slots.filter((slot) => slot.is_processing === true).length : 0;
    },
    kill,
    [Symbol.asyncDispose]: kill,
  };
}

async function hasLoaded(child: ChildProcess, origin: string): Promise<void> {
  for (let tries = 0; tries < 120 && child.exitCode === null; tries += 1) {
    const isUp = await fetch(`${origin}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    await wait(250);
  }
  child.kill("SIGKILL");
  throw new Error("llama-server does not start");
}

/** Writes a file of a check, and answers its path. */
export async function written(folder: string, name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}
