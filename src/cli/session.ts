import type { Settings } from "../config/config.ts";
import { RlmError, type Session, type SessionOptions } from "../index.ts";
import { openSessionWith } from "../session/session.ts";
import { indexFolder } from "./home.ts";
import { checkPrice } from "./model.ts";
import { openProgress, type ProgressLine, processClock, quietProgress } from "./progress.ts";
import type { SessionFlags } from "./session-options.ts";
import { sessionOptions } from "./settings.ts";
import { skippedLine } from "./skipped.ts";
import { checkPaths, contextSource } from "./sources.ts";
import type { Stop } from "./stop.ts";
import type { Terminal } from "./terminal.ts";

/** A session of the command: it loads what the user names and says on stderr what takes long. */
export interface CliSession extends AsyncDisposable {
  readonly session: Session;
  readonly progress: ProgressLine;
  /** Loads what the flags name: the first as the context, the others appended. @throws RlmError */
  loadAll(signal: AbortSignal): Promise<void>;
  /** Loads a path that the user named, which makes it an allowed root; or `-`, stdin. @throws RlmError */
  load(path: string, kind: "load" | "append", signal: AbortSignal): Promise<void>;
}

/** Opens the session that flags and settings ask for; nothing is loaded yet. @throws RlmError */
export async function openCliSession(
  flags: SessionFlags,
  settings: Settings,
  { stderr }: Terminal,
): Promise<CliSession> {
  checkPrice(settings);
  const { roots = [] } = settings;
  const progress = flags.quiet ? quietProgress(processClock) : openProgress(stderr, processClock);
  const indexDir = indexFolder(process.env);
  const session = await openQuietly({
    ...sessionOptions(settings),
    roots: [...roots, ...flags.contexts].filter((path) => path !== "-"),
    ...(indexDir === undefined ? {} : { indexDir }),
    onProgress: progress.report,
  });

  async function load(path: string, kind: "load" | "append", signal: AbortSignal): Promise<void> {
    checkPaths([path]);
    const name = path === "-" ? "stdin" : path;
    const before = kind === "append" ? session.stats()?.skipped : undefined;
    progress.begin(name);
    try {
      const source = await contextSource(path, signal);
      const options = { signal, roots: path === "-" ? [] : [path] };
      const { stats } = await (kind === "load" ? session.load(source, options) : session.loadAppend(source, options));
      progress.end();
      if (kind === "load") progress.reset();
      const line = skippedLine({
        count: stats.skipped.count - (before?.count ?? 0),
        files: stats.skipped.files.slice(before?.files.length ?? 0),
      });
      if (line !== null && !flags.quiet) stderr.write(`${name}: ${line}\n`, "dim");
    } finally {
      progress.end();
    }
  }

  return {
    session,
    progress,
    async loadAll(signal) {
      // All of them before the first is read, which may take long.
      checkPaths([...roots, ...flags.contexts]);
      for (const [index, path] of flags.contexts.entries()) await load(path, index === 0 ? "load" : "append", signal);
    },
    load,
    [Symbol.asyncDispose]: () => session.close(),
  };
}

/** Tells of a failure that is no cell's, and of which session, where there was one already. */
export type ReportFailure = (error: RlmError, session: string | null) => void;

/**
 * Runs work that opens one session, whose contexts are then loaded, and closes it. An RlmError is reported, with the exit
 * code 1.
 */
export async function reportingFailures(
  { signal }: Pick<Stop, "signal">,
  report: ReportFailure,
  work: (open: typeof openCliSession) => Promise<number>,
): Promise<number> {
  let opened: CliSession | undefined;
  try {
    return await work(async (...args) => {
      opened = await openCliSession(...args);
      await opened.loadAll(signal);
      return opened;
    });
  } catch (error) {
    if (error instanceof RlmError) report(error, opened?.session.id ?? null);
    // What is aborted while it reads stdin says so with an error of its own.
    else if (!signal.aborted) throw error;
    return 1;
  } finally {
    await opened?.[Symbol.asyncDispose]();
  }
}

/** `openSession` with a worker that keeps node:sqlite's warning off stderr. */
export function openQuietly(options: SessionOptions): Promise<Session> {
  const worker = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);
  return openSessionWith(options, { worker });
}
