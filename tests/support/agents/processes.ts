import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A process that works for a folder. */
export interface FolderProcess {
  readonly pid: number;
  readonly command: string;
  readonly isKeeper: boolean;
  /** The key of the agent that it keeps; null: it keeps none. */
  readonly keeps: string | null;
}

/**
 * Processes that work for a folder: those of Belay and of agents, which were started in it, and keepers, which have an outbox in
 * it or were started by one of the others. Zombies and this process are not among them.
 */
export function processesIn(folder: string): readonly FolderProcess[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => processAt(Number(name)));
  const isInside = (path: string) => `${path}/`.startsWith(`${folder}/`);
  const inside = all.filter(({ cwd, files }) => isInside(cwd) || files.some(isInside));
  const pids = new Set(inside.map(({ pid }) => pid));
  // One that has no agent at the moment has no outbox.
  const idle = all.filter(({ pid, parent, command }) => !pids.has(pid) && pids.has(parent) && isKeeper(command));
  return [...inside, ...idle].map(({ pid, command, files }) => ({
    pid,
    command,
    isKeeper: isKeeper(command),
    keeps: isKeeper(command) ? (files.filter(isInside).map((path) => OUTBOX.exec(path)?.[1])[0] ?? null) : null,
  }));
}

interface AnyProcess {
  readonly pid: number;
  readonly parent: number;
  readonly cwd: string;
  readonly command: string;
  /** Paths of what it has open. */
  readonly files: readonly string[];
}

/** None: it has ended, or is another user's. */
function processAt(pid: number): AnyProcess[] {
  try {
    const at = `/proc/${pid}`;
    const command = readFileSync(`${at}/cmdline`, "utf8").split("\0").join(" ").trim();
    if (command === "") return [];
    const [, parent = ""] = readFileSync(`${at}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    const files = isKeeper(command) ? readdirSync(`${at}/fd`).flatMap((fd) => linkAt(`${at}/fd/${fd}`)) : [];
    return [{ pid, parent: Number(parent), cwd: readlinkSync(`${at}/cwd`), command, files }];
  } catch {
    return [];
  }
}

function linkAt(path: string): string[] {
  try {
    return [readlinkSync(path)];
  } catch {
    return [];
  }
}

const isKeeper = (command: string) => command.includes("keeper-entry");

/** A file of an outbox, which is a folder of its session and its call. */
const OUTBOX = /\/(?:server-)?agents\/([^/]+\/[^/]+)\/[^/]+$/;

/** Kills a process, or with a negative id a group; false if it has ended. @throws Error for ids that mean this process's own group */
export function killed(pid: number): boolean {
  if (!Number.isInteger(pid) || Math.abs(pid) < 2) throw new Error(`${pid} is no process of an agent`);
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}
