import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, constants, existsSync, fstatSync, ftruncateSync, openSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as later } from "node:timers/promises";
import { messageOf } from "../../platform/errors.ts";
import { send, sendToGroup } from "../../platform/processes.ts";
import { startable } from "../../platform/programs.ts";
import { endMarked, isRunning, type KnownProcess, MARK, markedBy, processOf } from "./group.ts";
import {
  type AgentEnd,
  type AgentJob,
  type AgentResult,
  type AgentStart,
  claimOutbox,
  fileIn,
  isOfTree,
  openIn,
  readFrom,
  readOutbox,
  writeDurably,
  writeWhole,
} from "./outbox.ts";
import { makeWorktree, settleWorktree } from "./worktree.ts";

/** Names and values of the variables that an agent gets. */
export type Environment = Readonly<Record<string, string>>;

/** Work that a keeper is handed. What lies in an outbox another user may have written. */
export interface KeeperWork {
  /** The outbox. */
  readonly folder: string;
  /** The job that is started; null: an agent that has lost its keeper is watched. */
  readonly job: AgentJob | null;
  /** The folder of the call. */
  readonly cwd: string;
  /** Variables of the agent, which are never on disk. */
  readonly env: Environment;
}

/** Time for which another Belay may look at the outbox, ms. */
const CLAIM_MS = 2000;
/** Folders above a file that may be new: the outbox, the session's, the one of all agents and the store's. */
const NEW_LEVELS = 4;
/** From the request to end until the end by force, ms. */
const GRACE_MS = 5000;
/** Looks at what an agent prints: soon while it prints, less often while it does not, ms. */
const SOON_MS = 25;
const LATER_MS = 200;

/** Steps that a keeper tells of. */
interface KeeperSteps {
  /** The agent is started next. */
  begun(): void;
  /** The end of the agent is on disk, and the outbox is free. */
  kept(): void;
}

/**
 * Runs the agent of an outbox, and keeps its end. An agent that has lost its keeper is watched until
 * it ends. Nothing is done if another keeper has the outbox, or if the agent has ended.
 *
 * @throws Error if the outbox cannot be written
 */
export async function keep(work: KeeperWork, { begun, kept }: KeeperSteps): Promise<void> {
  const key = await keepLocked(work, begun);
  kept();
  // The look at all processes takes longer than the rest: nothing waits for it.
  if (key !== null) endMarked(key, "SIGKILL");
}

/** Returns the mark of an agent that may have left processes behind; null: nothing was started. */
async function keepLocked(work: KeeperWork, begun: () => void): Promise<string | null> {
  const { folder, job: given } = work;
  using claim = claimOutbox(folder, CLAIM_MS);
  const { job, start, result } = readOutbox(folder);
  if (!claim || !job || (result && result.tries >= job.tries)) return null;
  if (start && start.tries >= job.tries) await watchLost(work, job, start);
  else if (isAsked(folder) || given?.key !== job.key) return null;
  else await keepEnd(folder, { ...(await runAgent(work, given, begun)), tries: given.tries });
  return job.key;
}

const keepEnd = (folder: string, result: AgentResult) =>
  writeDurably(folder, "result.json", JSON.stringify(result), { after: "out" });

/** Folders of sessions that this keeper has brought to the disk, with those above them. */
const onDisk = new Set<string>();

async function keepStart(folder: string, start: AgentStart): Promise<void> {
  const { ino, birthtimeMs } = statSync(dirname(folder));
  const session = `${ino} ${birthtimeMs}`;
  await writeDurably(folder, "started", JSON.stringify(start), { levels: onDisk.has(session) ? 2 : NEW_LEVELS });
  onDisk.add(session);
}

type End = Omit<AgentResult, "tries">;

async function runAgent({ folder, env }: KeeperWork, job: AgentJob, begun: () => void): Promise<End> {
  const tree = job.tree === null ? null : fileIn(folder, job.tree);
  let cwd = job.cwd;
  try {
    if (!existsSync(cwd)) throw new Error(`the folder ${cwd} does not exist`);
    if (tree !== null) cwd = await makeWorktree(cwd, tree, env);
  } catch (error) {
    return notStarted(messageOf(error));
  }
  const prompt = openSync(fileIn(folder, "prompt"), "r");
  const out = emptied(folder, "out");
  const err = emptied(folder, "err");
  try {
    await keepStart(folder, { tries: job.tries, cut: job.cut, at: Date.now() });
    begun();
    const ended = await untilEnd(folder, job, { cwd, env, prompt, printed: [out, err] });
    if (tree !== null) await settleWorktree(tree, job.cwd, env);
    return ended;
  } finally {
    for (const descriptor of [prompt, out, err]) closeSync(descriptor);
  }
}

const notStarted = (why: string): End => ({ ended: "not_started", code: null, signal: null, why });

/** Opens a new file. One that is appended to can be cut while a process prints to it. */
function emptied(folder: string, name: string): number {
  rmSync(fileIn(folder, name), { recursive: true, force: true });
  return openSync(fileIn(folder, name), "ax", 0o600);
}

interface Started {
  readonly cwd: string;
  readonly env: Environment;
  /** Descriptors of what it reads, and of what it prints to. */
  readonly prompt: number;
  readonly printed: readonly number[];
}

/** Its output goes to files, so that nothing of it is lost with its keeper. */
async function untilEnd(folder: string, job: AgentJob, { cwd, env, prompt, printed }: Started): Promise<End> {
  let agent: ChildProcess;
  try {
    const [program = "", ...words] = startable(job.argv, env);
    agent = spawn(program, words, {
      cwd,
      env: { ...env, [MARK]: job.key },
      detached: true,
      stdio: [prompt, ...printed],
      windowsHide: true,
    });
  } catch (error) {
    return notStarted(messageOf(error));
  }
  const { promise, resolve } = Promise.withResolvers<End>();
  agent.on("error", (error) => resolve(notStarted(error.message)));
  agent.on("exit", (code, signal) => resolve({ ended: "exited", code, signal }));
  const { pid } = agent;
  if (pid === undefined) return promise;
  writeWhole(folder, "process", JSON.stringify(processOf(pid)));
  const why = await watch(folder, job, printed, Date.now(), promise, (signal) => endGroup(pid, job.key, signal));
  const ended = await promise;
  await endRest(pid, job, why !== null);
  return { ...ended, ended: why ?? ended.ended };
}

/** An agent whose keeper was killed: it is ended when its time is over, and its exit code is unknown. */
async function watchLost({ folder, cwd, env }: KeeperWork, job: AgentJob, start: AgentStart): Promise<void> {
  const main = readFrom<KnownProcess>(folder, "process");
  const isAlive = () => (main ? isRunning(main) : markedBy(job.key).length > 0);
  const ended = (async () => {
    while (isAlive()) await later(LATER_MS);
  })();
  const end = (signal: NodeJS.Signals) => {
    if (main && isRunning(main)) endGroup(main.pid, job.key, signal);
    else endMarked(job.key, signal);
  };
  const printed = ["out", "err"].flatMap((name) => openIn(folder, name, constants.O_RDWR) ?? []);
  const why = await watch(folder, job, printed, start.at, ended, end);
  for (const descriptor of printed) closeSync(descriptor);
  endMarked(job.key, "SIGKILL");
  if (job.tree !== null && isOfTree(job.tree)) await settleWorktree(fileIn(folder, job.tree), cwd, env);
  await keepEnd(folder, { tries: job.tries, ended: why ?? "unknown", code: null, signal: null });
}

/**
 * Watches an agent until it ends, and has it ended when it must not go on.
 *
 * @param files descriptors of what it prints to
 * @param began ms since the epoch
 * @returns the reason why it was ended; null: it ended by itself
 */
async function watch(
  folder: string,
  { timeout_ms, max_bytes }: AgentJob,
  files: readonly number[],
  began: number,
  ended: Promise<unknown>,
  end: (signal: NodeJS.Signals) => void,
): Promise<AgentEnd | null> {
  const isOver = ended.then(() => true);
  let why: AgentEnd | null = null;
  let asked = 0;
  let wait = SOON_MS;
  let printed = 0;
  for (;;) {
    const sizes = files.map(sizeOf);
    const bytes = sizes.reduce((sum, one) => sum + one, 0);
    const isFull = sizes.some((one) => one > max_bytes);
    if (why === null) {
      if (isFull) why = "too_large";
      else if (isAsked(folder)) why = "stopped";
      else if (Date.now() >= began + timeout_ms) why = "timeout";
      if (why !== null) {
        asked = performance.now();
        end("SIGTERM");
      }
    }
    // Output without an end would fill the disk in the meantime.
    if (why !== null && (isFull || performance.now() > asked + GRACE_MS)) end("SIGKILL");
    for (const one of files) cut(one, max_bytes);
    wait = bytes > printed ? SOON_MS : Math.min(LATER_MS, wait * 2);
    printed = bytes;
    const timer = new AbortController();
    const pause = later(wait, false, { signal: timer.signal }).catch(() => false);
    const over = await Promise.race([isOver, pause]);
    timer.abort();
    if (over) break;
  }
  const isCut = files.map((one) => cut(one, max_bytes)).includes(true);
  return isCut ? "too_large" : why;
}

/** True if a file had more bytes. */
function cut(file: number, bytes: number): boolean {
  if (sizeOf(file) <= bytes) return false;
  ftruncateSync(file, bytes);
  return true;
}

const sizeOf = (file: number) => fstatSync(file).size;

/** True if Belay wants the end of the agent. Without its outbox nothing waits for it. */
function isAsked(folder: string): boolean {
  return existsSync(fileIn(folder, "stop")) || !existsSync(fileIn(folder, "job.json"));
}

/** Sends a signal to the group of an agent, and to its processes that have left the group. */
function endGroup(pid: number, key: string, signal: NodeJS.Signals): void {
  sendToGroup(pid, signal);
  endMarked(key, signal);
}

/**
 * Ends what an agent has left behind: it must not work on unseen.
 *
 * @param isAsked its processes were asked to end, and have their time for it
 */
async function endRest(pid: number, { key, tree }: AgentJob, isAsked: boolean): Promise<void> {
  const isLeft = () => hasGroup(pid) || markedBy(key).length > 0;
  const until = performance.now() + GRACE_MS;
  while (isAsked && performance.now() < until && isLeft()) await later(SOON_MS);
  send(-pid, "SIGKILL");
  // Nothing may write to a worktree that is looked at.
  if (tree !== null) endMarked(key, "SIGKILL");
}

/** True if a group has a process. */
function hasGroup(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}
