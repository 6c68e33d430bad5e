import { type ChildProcess, spawn } from "node:child_process";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import PQueue from "p-queue";
import { cancelled } from "../context/load/reading.ts";
import { holdProcess } from "../platform/processes.ts";
import { endInTime } from "../platform/signals.ts";
import { megabytes, Unreadable } from "./growing.ts";
import { CHILDREN } from "./kinds.ts";
import {
  type Answer,
  answerOf,
  type Frame,
  frameOf,
  framesOf,
  type Job,
  OUT_OF_MEMORY,
  OUT_OF_TIME,
  progressIn,
  RSS_BYTES,
  timeFor,
} from "./messages.ts";
import { readablePaths, readerEntries } from "./packages.ts";

/** A child that has read so many makes room for a fresh one. */
const MOST_SERVED = 64;
const IDLE_MS = 10_000;
const LAST_WORDS = 500;

export interface ReadOptions {
  /** Its abort ends the child at once. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((place: string) => void) | undefined;
}

interface Child {
  readonly process: ChildProcess;
  readonly frames: AsyncGenerator<Frame, undefined>;
  /** Resolves with the signal or code by which it ended. */
  readonly ended: Promise<string>;
  served: number;
  rest?: NodeJS.Timeout;
}

const idle = new Set<Child>();
const turns = new PQueue({ concurrency: CHILDREN });

/**
 * Reads an original in a process of its own, when its turn comes.
 *
 * @throws Unreadable; RlmError `cancelled`
 */
export async function readInChild(bytes: Uint8Array, job: Job, options: ReadOptions): Promise<Answer> {
  const { signal } = options;
  return turns
    .add(() => readNow(bytes, job, options), signal ? { signal } : {})
    .catch((error: unknown) => {
      throw signal?.aborted ? cancelled(signal) : error;
    });
}

async function readNow(bytes: Uint8Array, job: Job, options: ReadOptions): Promise<Answer> {
  // A child that may read the copy of one file reads nothing else.
  const [rested] = job.file === undefined ? idle : [];
  const child = rested ?? start(job.file);
  idle.delete(child);
  let goesOn = false;
  try {
    const answer = await readIn(child, bytes, job, options);
    goesOn = job.file === undefined && child.served < MOST_SERVED;
    return answer;
  } finally {
    if (goesOn) rest(child);
    else child.process.kill("SIGKILL");
  }
}

/** Keeps a child for a while. It does not keep this process alive. */
function rest(child: Child): void {
  holdProcess(child.process, false);
  child.rest = setTimeout(() => {
    idle.delete(child);
    child.process.kill("SIGKILL");
  }, IDLE_MS).unref();
  idle.add(child);
}

function start(file?: string): Child {
  const paths = file === undefined ? readablePaths() : [...readablePaths(), `${dirname(file)}/*`];
  const allowed = ["--permission", "--allow-worker", ...paths.map((path) => `--allow-fs-read=${path}`)];
  const options = [...allowed, "--no-warnings", `--max-old-space-size=${RSS_BYTES / 2 ** 20}`];
  const { guard, reader } = readerEntries();
  const code = ["--disallow-code-generation-from-strings", "--import", pathToFileURL(guard).href, reader];
  const words = [process.pid, RSS_BYTES, OUT_OF_MEMORY, OUT_OF_TIME, file ?? ""].map(String);
  const started = spawn(process.execPath, [...options, ...code, ...words], {
    env: {},
    cwd: "/",
    stdio: "pipe",
    windowsHide: true,
  });
  const frames = framesOf(started.stdout);
  let said = "";
  started.stderr.on("data", (text) => {
    said = `${said}${text}`.slice(-LAST_WORDS);
  });
  // A child that has ended takes nothing more: its end is what counts.
  started.stdin.on("error", () => {});
  const ended = new Promise<string>((resolve) => {
    started.on("error", (error) => resolve(error.message));
    started.on("close", (code, signal) => {
      const isFull = said.endsWith(OUT_OF_MEMORY) || said.includes("heap out of memory");
      const why = said.endsWith(OUT_OF_TIME) ? OUT_OF_TIME : (signal ?? `code ${code}`);
      resolve(isFull ? OUT_OF_MEMORY : why);
    });
  });
  const child = { process: started, frames, ended, served: 0 };
  started.on("close", () => idle.delete(child));
  return child;
}

async function readIn(child: Child, bytes: Uint8Array, job: Job, { signal, onProgress }: ReadOptions): Promise<Answer> {
  clearTimeout(child.rest);
  holdProcess(child.process, true);
  child.served += 1;
  let breach: Error | undefined;
  const end = (error: Error) => {
    breach ??= error;
    child.process.kill("SIGKILL");
  };
  using _inTime = endReading(WAITING * timeFor(bytes.length), signal, end);
  for (const piece of frameOf(job, [bytes])) child.process.stdin?.write(piece);
  for (;;) {
    const message = await nextMessage(child);
    if (message === undefined) throw breach ?? failure(await child.ended, bytes.length);
    if (typeof message !== "string") return message;
    onProgress?.(message);
  }
}

/**
 * A child ends itself by its processor time. On a busy computer that takes longer, and a child that
 * waits for nothing is ended.
 */
const WAITING = 10;

/** Ends work when its time, ms, has ended or the signal is aborted, until it is disposed. */
export function endReading(time: number, signal: AbortSignal | undefined, end: (why: Error) => void): Disposable {
  const slow = new Unreadable("too_slow", `took longer than ${Math.round(time / 1000)} s to read`);
  return endInTime(time, signal, () => end(signal?.aborted ? cancelled(signal) : slow));
}

/** The place to which the child has come, or its answer; undefined if it has ended. */
async function nextMessage({ frames }: Child): Promise<string | Answer | undefined> {
  try {
    const frame = (await frames.next()).value;
    return frame && (progressIn(frame) ?? answerOf(frame));
  } catch {
    throw new Unreadable("reader_failed", "cannot be read: its reader gave an answer that is not whole");
  }
}

function failure(end: string, bytes: number): Unreadable {
  if (end === OUT_OF_TIME)
    return new Unreadable(
      "too_slow",
      `took more than ${Math.round(timeFor(bytes) / 1000)} s of processor time to read`,
    );
  if (end === OUT_OF_MEMORY)
    return new Unreadable("too_big", `took more than ${megabytes(RSS_BYTES)} of memory to read`);
  return new Unreadable("reader_failed", `cannot be read: its reader ended (${end})`);
}
