import { readdirSync } from "node:fs";
import { type Heap, heap } from "./heap.ts";

/** What the process holds between two rounds. */
export interface Held extends Heap {
  /** Resident memory, bytes. */
  readonly rss: number;
  /** Threads, open files and resources of the event loop, locks and listening sockets among them. */
  readonly threads: number;
  readonly files: number;
  readonly resources: number;
  /** Listeners of the process's events. */
  readonly listeners: number;
}

/** Looks at what the process holds once its heap is collected. */
export async function held(): Promise<Held> {
  const live = await heap();
  const { rss } = process.memoryUsage();
  return { ...live, rss, ...handles() };
}

/** Handles of the process. Only Linux tells its threads and files: elsewhere they are 0. */
export function handles(): Omit<Held, keyof Heap | "rss"> {
  const count = (folder: string) => (process.platform === "linux" ? readdirSync(folder).length : 0);
  const resources = process.getActiveResourcesInfo().filter((name) => !PASSING.has(name)).length;
  const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
  return { threads: count("/proc/self/task"), files: count("/proc/self/fd"), resources, listeners };
}

/** What ends by itself. */
const PASSING: ReadonlySet<string> = new Set(["Timeout", "Immediate", "FSReqCallback", "FSReqPromise"]);

/** The most that one of the last half of the rounds is away from their mean, in percent. */
export function unevenness(values: readonly number[]): number {
  const last = values.slice(Math.floor(values.length / 2));
  const mean = last.reduce((sum, value) => sum + value, 0) / last.length;
  return Math.max(...last.map((value) => (Math.abs(value - mean) / mean) * 100));
}
