import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { LIMITS } from "../../../runtime/index.ts";
import { entryUrl } from "../../entries.ts";
import { joinSignals } from "../../platform/signals.ts";
import type { TaskName, Tasks } from "./tasks.ts";
import { type Limited, limited } from "./time-limit.ts";
import { untilAborted } from "./until-aborted.ts";

/** Runs tasks beside the main thread, one after the other. */
export type TaskThread = ReturnType<typeof openTaskThread>;

/** A task was ended from outside. The message is a clause about it: "it took longer than 10 s and was ended". */
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

/** The thread starts with the first task. A task that is ended takes the thread with it, and the next one gets a new one. */
export function openTaskThread({ limitMs = LIMITS.taskMs }: { readonly limitMs?: number } = {}) {
  let current: Promise<Worker> | undefined;
  let idle: NodeJS.Timeout | undefined;
  let last: Promise<unknown> = Promise.resolve();

  async function end(): Promise<void> {
    const ending = current;
    current = undefined;
    clearTimeout(idle);
    await (await ending?.catch(() => undefined))?.terminate();
  }

  async function perform(request: object, signal: AbortSignal) {
    clearTimeout(idle);
    if (signal.aborted) throw cancelled();
    try {
      current ??= startThread();
      return await answerOf(await current, request, limited(signal, limitMs), limitMs);
    } catch (error) {
      void end();
      throw error;
    } finally {
      if (current) idle = setTimeout(end, IDLE_MS).unref();
    }
  }

  return {
    /**
     * Answers one task. Its time counts from its turn, once the thread has started, and the signal ends it at once.
     *
     * @throws TaskEnded if the signal aborts, or if the task takes too long or too much memory
     */
    async run<Name extends TaskName>(
      name: Name,
      args: Parameters<Tasks[Name]>,
      signal: AbortSignal,
    ): Promise<Awaited<ReturnType<Tasks[Name]>>> {
      const turn = last.then(() => perform({ name, args }, signal));
      last = turn.catch(() => {});
      const answer = await untilAborted(turn, signal, cancelled);
      if (answer.ok) return answer.value;
      throw new Error(answer.message);
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

/** A thread that has loaded its modules. */
async function startThread(): Promise<Worker> {
  // Flags of a caller such as --input-type are refused for a thread.
  const thread = new Worker(entryUrl("models/tasks/thread-entry"), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  await nextMessage(thread);
  thread.unref();
  return thread;
}

/** The thread keeps the process alive for as long as something is awaited. */
async function answerOf(thread: Worker, request: object, limit: Limited, limitMs: number) {
  thread.ref();
  try {
    thread.postMessage(request);
    return await nextMessage(thread, limit.signal);
  } catch (error) {
    throw endOf(error, limit, limitMs);
  } finally {
    limit.release();
    thread.unref();
  }
}

/** The thread's next message. It rejects if the signal aborts, and if the thread fails or ends. */
async function nextMessage(thread: Worker, stop?: AbortSignal) {
  const done = new AbortController();
  using either = joinSignals(stop, done.signal);
  const signal = either.signal;
  const ended = once(thread, "exit", { signal }).then(() => {
    throw new Error("the thread for tools and schemas ended");
  });
  try {
    const [message] = await Promise.race([once(thread, "message", { signal }), ended]);
    return message;
  } finally {
    done.abort();
  }
}

function endOf(error: unknown, limit: Limited, limitMs: number): unknown {
  if (limit.ended() === "cancelled") return cancelled();
  if (limit.ended() === "timeout")
    return new TaskEnded("time", `it took longer than ${limitMs / 1000} s and was ended`);
  if (!(error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY")) return error;
  return new TaskEnded("memory", `it took more than ${HEAP_MB} MB and was ended`);
}

function cancelled(): TaskEnded {
  return new TaskEnded("cancelled", "it was cancelled");
}
