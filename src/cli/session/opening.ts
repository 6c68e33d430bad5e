import { resolve } from "node:path";
import { type Json, RlmError } from "../../index.ts";
import { displayName } from "../../platform/ids.ts";
import type { Host } from "../commands/define.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { type SessionFlags, sessionFlags } from "../flags/session-flags.ts";
import { contextsToBring } from "../input/contexts.ts";
import { processTerminal, type Terminal } from "../render/terminal.ts";
import { type Report, reportOf } from "../running/reports.ts";
import { type Stop, untilStopped } from "../stop.ts";
import { gcOnceADay } from "../store/daily-gc.ts";
import { type Asked, type CliSession, type Opening, openCliSession } from "./session.ts";

/** The parts of a command that works in one session. */
export interface InSession {
  readonly flags: SessionFlags;
  readonly terminal: Terminal;
  readonly stop: Stop;
  readonly report: Report;
  readonly isJson: boolean;
  /**
   * Opens the session and brings in its contexts. The session is closed when the command ends.
   * `isBegun`: an earlier command has begun the same, so it is to be resumed.
   *
   * @throws RlmError
   */
  open(more: Partial<Opening>): Promise<CliSession & { readonly isBegun: boolean }>;
}

/**
 * Runs a command that opens one session and closes it. An RlmError is reported. Gives the exit
 * code.
 *
 * @param failed the exit code after such an error
 * @throws UsageError
 */
export function inSession(
  args: Arguments,
  host: Host,
  command: string,
  work: (parts: InSession) => Promise<number>,
  failed = 1,
): Promise<number> {
  return untilStopped(async (stop) => {
    const terminal = processTerminal(stop.close);
    const flags = sessionFlags(args, command);
    const isJson = args.get(OUTPUT_FLAGS.json);
    const report = reportOf(isJson, terminal);
    let opened: CliSession | undefined;
    const open: InSession["open"] = async (more) => {
      const opening = { flags, host, terminal, ...more };
      const session = await openCliSession(opening);
      opened = session;
      stop.leaving.after(async () => session.kept?.store[Symbol.asyncDispose]());
      return { ...session, isBegun: await makeReady(session, opening, stop.signal) };
    };
    try {
      return await work({ flags, terminal, stop, report, isJson, open });
    } catch (error) {
      if (error instanceof RlmError) report.failure(error, opened?.keptId() ?? null);
      // Reading stdin that is aborted throws an error of its own.
      else if (!stop.signal.aborted) throw error;
      return failed;
    } finally {
      if (opened) await closeWithGc(opened, stop.signal.aborted);
    }
  });
}

/**
 * Looks after what was interrupted, then brings in the contexts. Tells whether what the user asks
 * for was begun before. All that refuses the command comes first: until then nothing is changed.
 *
 * @throws RlmError `exec_unfinished`, `context_changed` and what loading throws
 */
export async function makeReady(
  opened: CliSession,
  { flags, asked }: Pick<Opening, "flags" | "asked">,
  signal: AbortSignal,
): Promise<boolean> {
  const cancelled = () =>
    new RlmError("cancelled", "cancelled before anything started", { suggestion: "Run the command again." });
  const met = meetUnfinished(opened, flags, asked);
  const isBegun = met === "goes on";
  if (isBegun) opened.checkRecorded();
  const load = await contextsToBring(opened, flags, signal);
  if (signal.aborted) throw cancelled();
  if (met === "given up") await opened.session.discard();
  if (isBegun) opened.goesOn();
  // Interrupted work stays as it is until a person decides on it.
  if (met !== "none" || !opened.session.unfinished()) await opened.accept();
  try {
    await load();
  } catch (error) {
    await opened.takeBack();
    throw error;
  }
  if (!signal.aborted) return isBegun;
  throw cancelled();
}

/** Ends a session. Once a day it also drops old sessions without a name. */
export async function closeWithGc(opened: CliSession, isHurried: boolean): Promise<void> {
  const { session, kept } = opened;
  await session.close();
  // A user who asked the process to end does not wait for this.
  if (kept && !isHurried) await gcOnceADay(kept.store, kept.folder, Date.now());
  await opened[Symbol.asyncDispose]();
}

/** The fate of an exec that was interrupted, before anything else is run in its session. */
type Met = "none" | "goes on" | "given up";

/**
 * Decides on what was interrupted in a session. It continues if it is what the user asks for.
 *
 * @throws RlmError `exec_unfinished` if it is something else
 */
function meetUnfinished(opened: CliSession, flags: SessionFlags, asked: Opening["asked"]): Met {
  const { session, resumeCommand } = opened;
  const { contexts, change, discard } = flags;
  const unfinished = session.unfinished();
  if (!unfinished) return "none";
  if (discard) return "given up";
  const { kind, input } = unfinished;
  if (asked?.kind === kind && isSame(textOf(input, "prompt"), asked) && change === null) return "goes on";
  // A load that did not end has left nothing: it begins again.
  const isLoad = kind === "load" || kind === "append";
  if (isLoad && contexts.some((given) => textOf(input, "path") === resolve(given) || isStdin(input, given))) {
    return "given up";
  }
  if (!asked) return "none";
  throw new RlmError("exec_unfinished", `${displayName(session)} has an unfinished ${kind}: ${brief(input)}`, {
    suggestion: `\`${resumeCommand()}\` finishes it; the same line with \`--discard\` gives it up and ${kind === "ask" ? AFTER_ASK : "goes on from before it"}.`,
  });
}

function isSame(text: string | undefined, { input, isBeginning }: Asked): boolean {
  return isBeginning ? text?.startsWith(input) === true : text === input;
}

/** Cells of an ask have ended one by one. */
const AFTER_ASK = "keeps the variables of its last cell";

const isStdin = (input: Json, given: string) => given === "-" && textOf(input, "name") === "stdin";

/** The first line of what was asked. */
export function brief(input: Json): string {
  const text = textOf(input, "prompt") ?? textOf(input, "path") ?? textOf(input, "name") ?? JSON.stringify(input);
  const [line = ""] = text.trim().split("\n", 1);
  return line.length > UNITS ? `${line.slice(0, UNITS)}…` : line;
}

const UNITS = 60;

/** The input itself, or its field of that name. */
function textOf(input: Json, name: string): string | undefined {
  const value: unknown = typeof input === "object" && input !== null ? Reflect.get(input, name) : input;
  return typeof value === "string" ? value : undefined;
}
