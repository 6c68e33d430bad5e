import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { readAtMost } from "../../platform/bounded-reads.ts";
import { errorCode } from "../../platform/errors.ts";
import { parseJson } from "../../platform/json.ts";
import { isTree, namesIn } from "../../platform/outbox-folders.ts";
import { syncFolder } from "../../platform/result-file.ts";

// The outbox of one agent is a folder. Belay writes `prompt` and `job.json`. The keeper writes
// `started` before it starts the agent, and `result.json` after the agent's end: both are on disk
// before the next step. The agent prints to `out` and `err`. Whoever changes the outbox has `lock`.
// The agent can put anything in place of a file: nothing here follows links, or waits for a pipe.

/** The work of a keeper. */
export interface AgentJob {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** From the agent's start, ms. */
  readonly timeout_ms: number;
  /** The most that each of `out` and `err` may hold. */
  readonly max_bytes: number;
  /** Name of the worktree in the outbox that the agent works in; null: it works in `cwd`. */
  readonly tree: string | null;
  /** Marks the processes of this start. */
  readonly key: string;
  /** Number of the start, from 1. */
  readonly tries: number;
  /** Earlier starts that may have cost as much. */
  readonly cut: number;
}

/** The start of an agent: on disk before the agent is started. */
export interface AgentStart extends Pick<AgentJob, "tries" | "cut"> {
  /** ms since the epoch. */
  readonly at: number;
}

/**
 * The end of an agent. `exited`: by itself. `stopped`: Belay asked for it. `unknown`: its keeper was
 * killed, and its processes are gone.
 */
export type AgentEnd = "exited" | "timeout" | "too_large" | "stopped" | "not_started" | "unknown";

export interface AgentResult {
  readonly tries: number;
  readonly ended: AgentEnd;
  readonly code: number | null;
  readonly signal: string | null;
  /** The reason why it could not be started. */
  readonly why?: string;
}

/** The state of an outbox. */
export interface OutboxState {
  readonly job: AgentJob | null;
  /** null: the agent was never started. */
  readonly start: AgentStart | null;
  /** The end of the newest start; null: there is none yet. */
  readonly result: AgentResult | null;
}

export function fileIn(folder: string, name: string): string {
  return join(folder, name);
}

export function readOutbox(folder: string): OutboxState {
  const start = readFrom<AgentStart>(folder, "started");
  const result = readFrom<AgentResult>(folder, "result.json");
  const isOfStart = result !== null && (start === null || result.tries >= start.tries);
  return { job: readFrom<AgentJob>(folder, "job.json"), start, result: isOfStart ? result : null };
}

/** The starts of an outbox's agent that were cut, before the one that answers or is to answer. */
export function cutBefore(folder: string): number {
  const { start, result } = readOutbox(folder);
  const isCut = result?.ended === "stopped" || result?.ended === "unknown";
  return (start?.cut ?? 0) + (start && isCut ? 1 : 0);
}

/** The value of a file; null: the file is missing or not whole. */
export function readFrom<T>(folder: string, name: string): T | null;
export function readFrom(folder: string, name: string): unknown {
  const text = textIn(folder, name);
  return text === null ? null : (parseJson(text) ?? null);
}

/** The most that a file may hold that Belay or a keeper writes: a job has the words of a command. */
const OWN_BYTES = 4 * 2 ** 20;

/** The text of a regular file; null: there is none. */
export function textIn(folder: string, name: string, most = OWN_BYTES): string | null {
  return readIn(folder, name, most)?.toString("utf8") ?? null;
}

/** The bytes of a regular file, at most so many; none if there is no such file. */
export function bytesIn(folder: string, name: string, most: number): Buffer {
  return readIn(folder, name, most) ?? Buffer.alloc(0);
}

function readIn(folder: string, name: string, most: number): Buffer | null {
  const descriptor = openIn(folder, name, constants.O_RDONLY);
  if (descriptor === null) return null;
  try {
    return readAtMost(descriptor, Math.min(most, fstatSync(descriptor).size));
  } catch {
    return null;
  } finally {
    closeSync(descriptor);
  }
}

/** Opens a regular file of an outbox. @returns null if it is missing, or is something else */
export function openIn(folder: string, name: string, flags: number): number | null {
  try {
    const path = fileIn(folder, name);
    const descriptor = openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (fstatSync(descriptor).isFile()) return descriptor;
    closeSync(descriptor);
  } catch {
    // It is missing, or a link.
  }
  return null;
}

/**
 * Takes the outbox for this process. The kernel frees the lock of a process that was killed.
 *
 * @param waitMs the time for which to wait for another process
 * @returns null if another process has it, or if there is no such folder
 */
export function claimOutbox(folder: string, waitMs = 0): Disposable | null {
  let database: DatabaseSync | undefined;
  try {
    const lock = fileIn(folder, "lock");
    if (lstatSync(lock, { throwIfNoEntry: false })?.isFile() === false) rmSync(lock, { recursive: true, force: true });
    database = new DatabaseSync(lock);
    database.exec(`PRAGMA busy_timeout = ${waitMs}; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE`);
    const held = database;
    return { [Symbol.dispose]: () => held.close() };
  } catch (error) {
    database?.close();
    if (isBusy(error) || namesIn(folder).length === 0) return null;
    throw error;
  }
}

/** SQLITE_BUSY and SQLITE_LOCKED, with their extended codes. */
function isBusy(error: unknown): boolean {
  const code = error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : 0;
  return code === 5 || code === 6;
}

/** Writes a whole file or none. */
export function writeWhole(folder: string, name: string, text: string): void {
  const path = fileIn(folder, name);
  rmSync(`${path}.new`, { recursive: true, force: true });
  writeFileSync(`${path}.new`, text, { mode: 0o600, flag: "wx" });
  nameIt(path);
}

/** Gives a file that was written its name, also if a folder has it. */
function nameIt(path: string): void {
  try {
    renameSync(`${path}.new`, path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") throw error;
    rmSync(path, { recursive: true, force: true });
    renameSync(`${path}.new`, path);
  }
}

interface Durably {
  /** Folders whose entries are on disk too, from the outbox upwards. Default: the outbox. */
  readonly levels?: number;
  /** A file of the outbox that is on disk before this one has its name. */
  readonly after?: string;
}

/** The same, and it is on disk when this resolves. What can go to the disk together does. */
export async function writeDurably(
  folder: string,
  name: string,
  text: string,
  { levels = 1, after }: Durably = {},
): Promise<void> {
  const path = fileIn(folder, name);
  rmSync(`${path}.new`, { recursive: true, force: true });
  const written = writeFile(`${path}.new`, text, { mode: 0o600, flag: "wx", flush: true });
  await Promise.all([written, after === undefined ? undefined : flushed(folder, after)]);
  nameIt(path);
  const folders = Array.from({ length: levels }, (_, level) => join(folder, ...Array(level).fill("..")));
  await Promise.all(folders.map(syncFolder));
}

/** Windows flushes only what is open for writing. An agent may have taken the right to write. */
const TO_FLUSH = process.platform === "win32" ? constants.O_RDWR : constants.O_RDONLY;

/** Brings a file of an outbox to the disk, if it is there. */
async function flushed(folder: string, name: string): Promise<void> {
  const descriptor = openIn(folder, name, TO_FLUSH);
  if (descriptor === null) return;
  try {
    await promisify(fsync)(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Asks the keeper of an outbox to end its agent. */
export function askToStop(folder: string): void {
  try {
    writeWhole(folder, "stop", "");
  } catch (error) {
    // Without its outbox the agent is ended anyway.
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

/** Names of worktrees, and of the files beside them that say whose they are. */
export const isOfTree = (name: string) => isTree(name.replace(/\.git$/, ""));

/** Empties an outbox, and drops it if no worktree is left in it. */
export function emptyOutbox(folder: string): void {
  for (const name of namesIn(folder))
    if (!isOfTree(name)) rmSync(fileIn(folder, name), { recursive: true, force: true });
  if (namesIn(folder).length === 0) rmSync(folder, { recursive: true, force: true });
}
