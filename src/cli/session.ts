import { ulid } from "ulid";
import { systemClock } from "../../runtime/index.ts";
import type { Session } from "../index.ts";
import { openSessionWith, type SessionOptions } from "../session/session.ts";
import { openMemoryStore } from "../session/store.ts";
import { indexFolder } from "./home.ts";
import { noProgress, openProgress, type ProgressLine } from "./progress.ts";
import type { SessionFlags } from "./session-options.ts";
import { skippedLine } from "./skipped.ts";
import { checkPaths, contextSource } from "./sources.ts";
import type { Terminal } from "./terminal.ts";

/** A session of the command: it loads what the user names and says on stderr what takes long. */
export interface CliSession extends AsyncDisposable {
  readonly session: Session;
  readonly progress: ProgressLine;
  /**
   * Loads a path (or `-`) that the user named, which makes it an allowed root.
   *
   * @throws RlmError
   */
  load(path: string, kind: "load" | "append", signal: AbortSignal): Promise<void>;
}

/** Opens the session that the flags ask for; nothing is loaded. @throws RlmError `path_not_found` for a root */
export async function openCliSession(flags: SessionFlags, { stderr }: Terminal): Promise<CliSession> {
  checkPaths(flags.roots);
  const roots = [...flags.roots];
  const progress = flags.quiet ? noProgress : openProgress(stderr, () => performance.now());
  const indexDir = indexFolder(process.env);
  const session = await openQuietly({
    roots,
    limits: flags.limits,
    ...(flags.memoryMb === undefined ? {} : { memoryMb: flags.memoryMb }),
    ...(indexDir === undefined ? {} : { indexDir }),
    onProgress: progress.report,
  });
  return {
    session,
    progress,
    async load(path, kind, signal) {
      checkPaths([path]);
      // The session reads its roots at each load.
      if (path !== "-" && !roots.includes(path)) roots.push(path);
      const name = path === "-" ? "stdin" : path;
      const before = kind === "append" ? session.stats()?.skipped : undefined;
      progress.begin(name);
      try {
        const source = await contextSource(path, signal);
        const { stats } = await session[kind === "load" ? "load" : "loadAppend"](source, { signal });
        const line = skippedLine({
          count: stats.skipped.count - (before?.count ?? 0),
          files: stats.skipped.files.slice(before?.files.length ?? 0),
        });
        progress.end();
        if (line !== null && !flags.quiet) stderr.write(`${name}: ${line}\n`, "dim");
      } finally {
        progress.end();
      }
    },
    [Symbol.asyncDispose]: () => session.close(),
  };
}

/** As `openSession` does, with a worker that keeps node:sqlite's warning off stderr. */
export function openQuietly(options: SessionOptions): Promise<Session> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  return openSessionWith(options, {
    worker: new URL(`./worker.${extension}`, import.meta.url),
    store: openMemoryStore(),
    answer: async (call) => {
      throw new Error(`no builtin ${call.name} is answered by the host`);
    },
    clock: systemClock,
    newId: () => ulid(),
  });
}
