import { resolve } from "node:path";
import { DEFAULT_EXEC_LIMITS, type ExecLimits, hasCode } from "../../../runtime/index.ts";
import type { Context, ContextSize } from "../../context/index.ts";
import { describeWhole } from "../../history/index.ts";
import type { ContextStats, LoadSource, Session } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { isStoreToRead } from "../../platform/home.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { newUlid } from "../../platform/new-ulid.ts";
import { checkResultFile } from "../../platform/result-file.ts";
import { typedName } from "../../platform/shell-word.ts";
import { inLine } from "../../platform/visible.ts";
import {
  contextParts,
  type HostedOptions,
  mostOf,
  openSessionWith,
  sessionNamed,
  storedContext,
  summaryOf,
  type WaitOptions,
  warmMachine,
} from "../../session/index.ts";
import { LAST_SESSION } from "../../session/session-name.ts";
import type { Settings } from "../../settings/index.ts";
import { openSigner } from "../../settings/signed-settings.ts";
import type { SessionRow, Store } from "../../store/index.ts";
import { WORKFLOW_BUDGET } from "../../workflow/index.ts";
import type { Host } from "../commands/define.ts";
import type { AskedWorkflow, ResultPlace, SessionFlags } from "../flags/session-flags.ts";
import { commandLine } from "../flags/usage.ts";
import { checkContexts, checkPaths, contextSource, type OneSource } from "../input/sources.ts";
import { turnText } from "../render/ask.ts";
import { passedOver } from "../render/failure.ts";
import { loadedSince, showLoaded } from "../render/loaded.ts";
import { openProgress, type ProgressLine } from "../render/progress.ts";
import { processClock } from "../render/status-line.ts";
import type { Terminal } from "../render/terminal.ts";
import { answerLine, workflowLine } from "../render/workflow-line.ts";
import { openSendingStore, withStore } from "../store/open-store.ts";
import { openKeeping } from "./keeping.ts";
import { type KeptSettings, optionsOf } from "./recorded-settings.ts";
import { checkPrice, modelsOf, readSettings, withModel } from "./settings.ts";
import { optionsOfWorkflow } from "./workflow-options.ts";

/** A session of the command: it loads what the user names and says on stderr what takes long. */
export interface CliSession {
  readonly session: Session;
  /** The store that keeps it. */
  readonly kept: Kept;
  /** The line of progress on stderr. */
  readonly progress: ProgressLine;
  /** The place of the last result. */
  readonly output: ResultPlace;
  /** The workflow that it runs; null: none, or the command runs none. */
  readonly workflow: AskedWorkflow | null;
  /** Options of waiting for provider batches. */
  readonly waiting: WaitOptions;
  /** Limits of its cells. */
  readonly limits: ExecLimits;
  /** `belay resume NAME`, with these flags. */
  resumeCommand(...own: readonly string[]): string;
  /** A line to type about this session: what comes before its name, and what comes behind it. */
  lineAbout(command: readonly string[], ...more: readonly string[]): string;
  /** Ends such a line, if a store was named. */
  readonly storeWords: string;
  /** Folders and files in which contexts may lie. */
  readonly roots: readonly string[];
  /** The most that its context may hold. */
  readonly most: Readonly<ContextSize>;
  /** Loads a source that lies in them. @throws RlmError */
  loadSource(source: OneSource, path: string, kind: "load" | "append", signal: AbortSignal): Promise<void>;
  /**
   * Refuses to continue the exec of another process if recorded settings do not count.
   *
   * @throws RlmError `settings_untrusted`
   */
  checkRecorded(): void;
  /**
   * Records the settings of the command, which nothing refuses any more. Until then the store is as
   * it was.
   */
  accept(): Promise<void>;
  /** Records that the end of the run has been reported. */
  reported(): Promise<void>;
  /**
   * The command has failed before it ran anything: the session is as before. One that was made for
   * it goes when it is closed.
   */
  takeBack(): Promise<void>;
  /** The id of the session; null: it goes with a command that failed before it ran anything. */
  keptId(): string | null;
  /** Has what runs from now on spend the budget of what an earlier command asked for. */
  goesOn(): void;
  /**
   * Loads a path that the user named, which makes it an allowed root; or `-`, stdin.
   *
   * @throws RlmError
   */
  load(path: string, kind: "load" | "append", signal: AbortSignal): Promise<void>;
  /** Loads the source that the user named by this path. @throws RlmError */
  bring(source: OneSource, path: string, kind: "load" | "append", signal: AbortSignal): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The store that keeps a session; null: the session ends with the process. */
type Kept = { readonly store: Store; readonly folder: string } | null;

/** The work that a command is to run. */
export interface Asked {
  readonly kind: "cell" | "query" | "ask";
  readonly input: string;
  /** Work whose input begins with it is the same: settings of now follow. */
  readonly isBeginning?: true;
}

/** Arguments with which a session is opened. */
export interface Opening {
  readonly flags: SessionFlags;
  readonly host: Host;
  readonly terminal: Terminal;
  /** The work that is to be run; without it unfinished execs are left alone. */
  readonly asked?: Asked;
  /** Chooses a session of the store other than the one that the flags name. @throws RlmError */
  choose?(store: Store): Promise<SessionRow>;
  /** The command changes nothing: if the session does not exist yet, none is made in the store. */
  readonly looksOnly?: boolean;
  /** With --verbose each turn of an ask is printed as it comes. */
  readonly tellsTurns?: boolean;
  /** Without a model, or its key, loading would be for nothing. */
  readonly needsModel?: boolean;
  /** A further model that is asked. */
  readonly subModel?: string | undefined;
  /** The command runs workflows, which may ask the user's agents. */
  readonly runsWorkflows?: true;
}

/** Opens the session that flags and settings ask for; nothing is loaded yet. @throws RlmError */
export async function openCliSession(opening: Opening): Promise<CliSession> {
  const { flags, host, looksOnly = false } = opening;
  const { session: name, store: folder } = flags;
  const { otlp } = readSettings(flags);
  // A session may have been begun with settings that are missing here.
  if (name === null && !opening.choose) checkSettings((await withModel(readSettings(flags), flags)).settings, opening);
  checkContexts(flags);
  checkPaths(flags.contexts);
  warmMachine();
  if (folder === null) return openIn(null, null, opening);
  const looked = isStoreToRead(folder) ? await contextToAsk(folder, opening) : null;
  if (looked) return openIn(null, null, opening, looked);
  const say = (line: string) => opening.terminal.stderr.line(line, "yellow");
  const store = await openSendingStore(folder, host, { otlp, say }, ", or keep nothing with --no-store");
  const openNow = async () => {
    const row = await sessionToOpen(store, opening);
    if (row || !looksOnly) return openIn({ store, folder }, row, opening);
    await store[Symbol.asyncDispose]();
    return openIn(null, null, opening);
  };
  try {
    return await openNow().catch((error: unknown) => {
      // The same line in another process has made it in the meantime, and may be at work in it.
      if (hasCode(error, "session_exists")) return openNow();
      throw error;
    });
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * The context of the session that a query is about, in a store that cannot be written; null: it is
 * about no such session.
 */
async function contextToAsk(folder: string, opening: Opening): Promise<Context | null> {
  const { flags, host, asked, terminal } = opening;
  if (asked?.kind !== "query" || flags.contexts.length > 0) return null;
  return withStore(folder, host, async (store) => {
    const row = await sessionToOpen(store, opening);
    const key = row && (await describeWhole(store, row.id)).key;
    if (key === null) return null;
    terminal.stderr.write(`${inLine(folder)} cannot be written: the answer is not kept\n`, "yellow");
    return storedContext(store, key);
  });
}

/** The session that is chosen, or that --session names; null: it is to be made. */
async function sessionToOpen(store: Store, { flags, terminal, choose }: Opening): Promise<SessionRow | null> {
  const { session: name } = flags;
  if (choose) return choose(store);
  if (name === null) return null;
  return name === LAST_SESSION ? sessionNamed(store, name, passedOver(terminal.stderr)) : store.find(name);
}

/** @param looked the context of a session that is made for one question, and not kept */
async function openIn(
  kept: Kept,
  row: SessionRow | null,
  opening: Opening,
  looked: Context | null = null,
): Promise<CliSession> {
  const { flags, looksOnly = false } = opening;
  const { stderr } = opening.terminal;
  // The command continues an exec of an earlier one.
  const isTakenUp = opening.choose !== undefined || (!flags.discard && row !== null && hasUnfinishedWork(row));
  const keeping = await openKeeping({ kept, row, isTakenUp, looksOnly }, flags, stderr);
  const now = keeping.settings;
  const { output } = now;
  checkSettings(now.settings, opening);
  checkPaths((now.settings.roots ?? []).filter((root) => !keeping.gone.includes(root)));
  if (output.file !== null) checkResultFile(output.file);
  const words = opening.runsWorkflows && now.workflow ? workflowWords(flags.verbose) : {};
  const progress = openProgress(stderr, processClock, flags.quiet, words);
  const options = hostedOptions(kept, row, now, progress, opening);
  const signer = kept && openSigner(kept.folder, process.env);
  const parts = kept && signer && { store: kept.store, origin: "command" as const, signer };
  const questions = questionsOf(opening);
  const held = looked ? contextParts(looked) : {};
  const session = await openSessionWith(options, { ...parts, ...held, questions, settings: keeping.signed });
  const { roots = [] } = now.settings;
  const stored = flags.isStoreNamed && flags.store !== null ? ["--store", flags.store] : [];
  const lineAbout = (command: readonly string[], ...more: readonly string[]) =>
    commandLine([...command, typedName(session), ...more, ...stored]);
  const resumeCommand = (...own: readonly string[]) => lineAbout(["resume", ...own]);
  const loadSource = loaderOf(session, progress, now.cwd, opening);
  const bring: typeof loadSource = async (source, path, kind, signal) => {
    const load = () => loadSource(source, path, kind, signal);
    await (path === "-" ? load() : keeping.withRoot(session.id, path, kind, load));
  };
  let isRefused = false;
  return {
    session,
    kept,
    progress,
    output,
    workflow: opening.runsWorkflows ? now.workflow : null,
    waiting: flags.waiting,
    limits: { ...DEFAULT_EXEC_LIMITS, ...withoutUndefined(options.limits ?? {}) },
    resumeCommand,
    lineAbout,
    storeWords: commandLine(stored).slice("belay".length),
    roots,
    most: mostOf(options),
    loadSource,
    checkRecorded: keeping.checkRecorded,
    accept: () => keeping.accept(session.id),
    reported: () => keeping.reported(session.id),
    async takeBack(): Promise<void> {
      isRefused = row === null && kept !== null;
      await keeping.takeBack(session.id);
    },
    keptId: (): string | null => (isRefused ? null : session.id),
    goesOn: questions.goesOn,
    async load(path: string, kind: "load" | "append", signal: AbortSignal) {
      checkPaths([path]);
      await bring(await contextSource(path, signal), path, kind, signal);
    },
    bring,
    async [Symbol.asyncDispose]() {
      await session.close();
      if (isRefused) await kept?.store.remove(session.id, { discard: true });
      await kept?.store[Symbol.asyncDispose]();
    },
  };
}

/**
 * Options of the session with the settings that hold now. The label of an existing one stays until
 * the command is accepted.
 */
function hostedOptions(
  kept: Kept,
  row: SessionRow | null,
  now: KeptSettings,
  progress: ProgressLine,
  { flags, tellsTurns, terminal, runsWorkflows }: Opening,
): HostedOptions {
  const { label, ...others } = optionsOf(now);
  const name = row?.id ?? flags.session;
  return {
    ...others,
    ...(runsWorkflows && now.workflow ? optionsOfWorkflow(now) : {}),
    ...(row ? {} : withoutUndefined({ label })),
    ...(name === null || !kept ? {} : { session: name }),
    onProgress(told) {
      if (told.kind === "turn") {
        progress.clear();
        if (tellsTurns && flags.verbose && told.phase !== "asked") terminal.stderr.write(turnText(told));
      }
      progress.report(told);
    },
  };
}

const workflowWords = (isVerbose: boolean) => ({
  ofCalls: workflowLine,
  ...(isVerbose ? { ofAnswer: answerLine } : {}),
});

/**
 * True if a cell, query or ask has begun and not ended. A load begins again, by the settings of who
 * asks for it.
 */
export function hasUnfinishedWork(row: SessionRow): boolean {
  const { status, last } = summaryOf(row);
  return status === "unfinished" && last?.kind !== "load" && last?.kind !== "append";
}

/**
 * The budget of the settings is that of the command: all its cells share it. On a REPL each cell
 * has it.
 */
function questionsOf({ asked, choose, runsWorkflows }: Opening) {
  const own = newUlid();
  let isOfEarlier = choose !== undefined;
  const isConversation = !asked && !choose;
  return {
    id(newest: string | null): string {
      if (isConversation) return newUlid();
      return (isOfEarlier ? newest : null) ?? own;
    },
    most: null,
    ...(runsWorkflows ? { workflow: WORKFLOW_BUDGET } : {}),
    goesOn(): void {
      isOfEarlier = true;
    },
  };
}

/** Loads sources into a session, with progress and a line about files that are left out. */
function loaderOf(session: Session, progress: ProgressLine, cwd: string, { flags, terminal: { stderr } }: Opening) {
  // A session continues in the folder in which it was begun.
  const isElsewhere = process.cwd() !== cwd;
  const place = (source: LoadSource) => (typeof source === "string" && isElsewhere ? resolve(source) : source);
  return async (source: OneSource, path: string, kind: "load" | "append", signal: AbortSignal): Promise<void> => {
    const name = path === "-" ? "stdin" : path;
    const before = kind === "append" ? session.stats() : null;
    progress.begin(name);
    try {
      const options = { signal, roots: path === "-" ? [] : [resolve(path)], ...flags.loading };
      const { stats } = await (kind === "load"
        ? session.load(place(source), options)
        : session.loadAppend(place(source), options));
      progress.end();
      if (kind === "load") progress.reset();
      if (flags.quiet) return;
      const appended = before && appendedText(before, stats, before.sources.includes(resolve(path)));
      if (appended) stderr.write(`${inLine(name)}: ${appended}\n`, "yellow");
      showLoaded(loadedSince(before, stats), stderr, flags.verbose, `${inLine(name)}: `);
    } finally {
      progress.end();
    }
  };
}

/**
 * A clause about files of an append that P had already, or null if it had none of them.
 *
 * @param isAgain true if P had the source
 */
function appendedText(before: ContextStats, now: ContextStats, isAgain: boolean): string | null {
  const added = now.document_count - before.document_count;
  const changed = (now.replaced ?? 0) - (before.replaced ?? 0);
  if (added === 0) return "nothing is new or changed, and P stays as it is";
  if (changed === 0)
    return isAgain ? `${amount(added, "new document")} added; what has not changed is there once` : null;
  const older = changed === 1 ? "its older text stays" : "their older texts stay";
  return `${amount(added, "document")} added, ${changed} of changed files; ${older} in P, marked replaced_by in list_docs()`;
}

function checkSettings(settings: Settings, { needsModel, subModel }: Opening): void {
  checkPrice(settings);
  if (needsModel) modelsOf(settings).resolve(null);
  if (subModel !== undefined) modelsOf(settings).resolve(subModel);
}
