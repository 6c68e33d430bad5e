import { extname } from "node:path";

/** Modules that are started by their own file, as a thread or a process. A build has a file for each at the same place. */
export const ENTRIES = [
  "cli/main",
  "context/find/thread-entry",
  "context/search/thread-entry",
  "documents/child-entry",
  "documents/guard-entry",
  "machine-thread-entry",
  "models/agents/keeper-entry",
  "models/pi-ai/copy-entry",
  "models/tasks/thread-entry",
  "runs/child-entry",
  "store/sqlite/thread-entry",
] as const;

let folder = new URL(".", import.meta.url).href;
let extension = extname(import.meta.url);

/** Returns the file of an entry: TypeScript in a checkout, JavaScript in a build. */
export function entryUrl(entry: (typeof ENTRIES)[number]): URL {
  return new URL(`${entry}${extension}`, folder);
}

/** Starts this process's threads and processes from a build of `src`, which starts faster than its sources. */
export function useEntriesOf(build: URL): void {
  folder = build.href;
  extension = ".js";
}
