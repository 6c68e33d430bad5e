import { Worker } from "node:worker_threads";
import { LIMITS, openThreadCaller, type ThreadCaller } from "../../../runtime/index.ts";
import { entryUrl } from "../../entries.ts";
import { endInTime, untilAborted } from "../../platform/signals.ts";
import type { TaskName, Tasks } from "./thread-entry.ts";

/** Runs tasks beside the main thread, one after the other. */
export interface TaskThread extends AsyncDisposable {
  /**
   * Answers one task. Its time counts from its turn, once the thread has started, and the signal
   * ends it at once.
   *
   * @throws TaskEnded if the signal aborts, or if the task takes too long or too much memory; what
   * the task throws
   */
  run<Name extends TaskName>(
    name: Name,
    args: Parameters<Tasks[Name]>,
    signal: AbortSignal,
  ): Promise<Awaited<ReturnType<Tasks[Name]>>>;
}

/**
 * A task was ended from outside. The message is a clause about it: "it took longer than 10 s and
 * was ended".
 */
export class TaskEnded extends Error {
  readonly reason: "time" | "memory" | "cancelled";

  constructor(reason: TaskEnded["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The thread is given up after this time without a task, ms: it takes some 15 MB. */
const IDLE_MS = 10_000;
const HEAP_MB = 512;

/**
 * The thread starts with the first task. A task that is ended takes the thread with it, and the
 * next one gets a new one.
 */
export function openTaskThread({ limitMs = LIMITS.taskMs }: { readonly limitMs?: number } = {}): TaskThread {
  let current: StartedThread | undefined;
  let idle: NodeJS.Timeout | undefined;
  let last: Promise<unknown> = Promise.resolve();

  async function end(): Promise<void> {
    const ending = current;
    current = undefined;
    clearTimeout(idle);
    await ending?.caller.end();
  }

  async function perform(request: SentTask, signal: AbortSignal): Promise<never> {
    clearTimeout(idle);
    if (signal.aborted) throw cancelled();
    const thread =
      current ??
      startThread(() => {
        if (current === thread) current = undefined;
      });
    current = thread;
    const { caller, begun } = thread;
    let ended: TaskEnded | undefined;
    try {
      await begun;
      using _inTime = endInTime(limitMs, signal, (by) => {
        ended = by === "signal" ? cancelled() : tooLong(limitMs);
        void end();
      });
      return await caller.ask(request);
    } catch (error) {
      throw ended ?? (isOutOfMemory(error) ? tooBig() : error);
    } finally {
      if (current) idle = setTimeout(end, IDLE_MS).unref();
    }
  }

  return {
    async run(name, args, signal) {
      const turn = last.then(() => perform({ name, args }, signal));
      last = turn.catch(() => {});
      return await untilAborted(turn, signal, cancelled);
    },
    [Symbol.asyncDispose]: end,
  };
}

let shared: TaskThread | undefined;

/** The thread of this process. */
export function taskThread(): TaskThread {
  shared ??= openTaskThread();
  return shared;
}

/** A task by its name. Its types are those of `run`. */
interface SentTask {
  readonly name: TaskName;
  readonly args: readonly unknown[];
}

interface StartedThread {
  /** Returns what the task returns, since the thread runs it. */
  readonly caller: ThreadCaller<SentTask, never>;
  /** Resolves once the thread has loaded its modules. */
  readonly begun: Promise<unknown>;
}

function startThread(gone: () => void): StartedThread {
  // Flags of a caller such as --input-type are refused for a thread.
  const worker = new Worker(entryUrl("models/tasks/thread-entry"), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  const caller = openThreadCaller<SentTask, never>(worker, "the thread for tools and schemas ended");
  worker.once("exit", gone);
  return { caller, begun: caller.ask({ name: "begin", args: [] }) };
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}

const cancelled = () => new TaskEnded("cancelled", "it was cancelled");
const tooLong = (limitMs: number) => new TaskEnded("time", `it took longer than ${limitMs / 1000} s and was ended`);
const tooBig = () => new TaskEnded("memory", `it took more than ${HEAP_MB} MB and was ended`);
