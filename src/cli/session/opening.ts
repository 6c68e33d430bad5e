import { RlmError } from "../../index.ts";
import type { Stop } from "../stop.ts";
import { gcOnceADay } from "../store/daily-gc.ts";
import { type CliSession, type Opening, openCliSession } from "./session.ts";
import { type Asked, meetUnfinished } from "./unfinished.ts";

/** A session, ready for what the user asked for. */
export interface Ready extends CliSession {
  /** What the user asks for was begun before: it is to be resumed. */
  readonly isBegun: boolean;
}

/** What is done once a session is open, before it is ready. */
export interface Readying extends Opening {
  /** What is to be run; without it unfinished execs are left alone. */
  readonly asked?: Asked | null;
}

/** Reports a failure outside cells, with the session if one is open already. */
export type ReportFailure = (error: RlmError, session: string | null) => void;

/**
 * Runs work that opens one session, whose contexts are then brought in, and closes it. An RlmError is reported, with the
 * exit code 1.
 */
export async function reportingFailures(
  stop: Pick<Stop, "signal" | "leaving">,
  report: ReportFailure,
  work: (open: (readying: Readying) => Promise<Ready>) => Promise<number>,
): Promise<number> {
  let opened: CliSession | undefined;
  try {
    return await work(async (readying) => {
      const session = await openCliSession(readying);
      opened = session;
      stop.leaving.after(async () => session.kept?.store[Symbol.asyncDispose]());
      return { ...session, isBegun: await makeReady(session, readying, stop.signal) };
    });
  } catch (error) {
    if (error instanceof RlmError) report(error, opened?.session.id ?? null);
    // Reading stdin that is aborted throws an error of its own.
    else if (!stop.signal.aborted) throw error;
    return 1;
  } finally {
    if (opened) await closeWithGc(opened, stop.signal.aborted);
  }
}

/**
 * Looks after what was interrupted, then brings in the contexts. Tells whether what the user asks for was begun before.
 *
 * @throws RlmError `exec_unfinished`, `context_changed` and what loading throws
 */
export async function makeReady(
  opened: CliSession,
  { flags, asked = null }: Pick<Readying, "flags" | "asked">,
  signal: AbortSignal,
): Promise<boolean> {
  const { session } = opened;
  const { contexts, discard } = flags;
  const isBegun = await meetUnfinished({ session, asked, contexts, discard, resumeCommand: opened.resumeCommand() });
  if (isBegun) opened.checkRecorded();
  await opened.loadAll(signal);
  if (!signal.aborted) return isBegun;
  throw new RlmError("cancelled", "cancelled before anything started", { suggestion: "Run the command again." });
}

/** Ends a session. Once a day it also drops old sessions without a name. */
export async function closeWithGc(opened: CliSession, isHurried: boolean): Promise<void> {
  const { session, kept } = opened;
  await session.close();
  // A user who asked the process to end does not wait for this.
  if (kept && !isHurried) await gcOnceADay(kept.store, kept.folder, Date.now());
  await opened[Symbol.asyncDispose]();
}
