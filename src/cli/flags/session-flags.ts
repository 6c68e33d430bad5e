import { resolve } from "node:path";
import { RlmError } from "../../../runtime/index.ts";
import { type AskedSettings, settingsFromTexts } from "../../config/index.ts";
import { homeFolder } from "../../home.ts";
import { checkSessionName, LAST_SESSION, optionProblem } from "../../session/index.ts";
import { type Arguments, type Given, givenIn } from "./arguments.ts";
import {
  APPEND,
  CONTEXT,
  DISCARD,
  FORMAT,
  type Format,
  JSON_OUTPUT,
  NO_STORE,
  OPTION_FLAGS,
  OUTPUT,
  QUIET,
  RELOAD,
  ROOT,
  SESSION,
  SESSION_FLAGS,
  STORE,
  VERBOSE,
} from "./declared.ts";
import type { Flag } from "./flag.ts";
import { commandLine, UsageError } from "./usage.ts";

/** What the flags of a command that opens a session ask for. */
export interface SessionFlags {
  readonly command: string;
  readonly contexts: readonly string[];
  /** The settings among them. */
  readonly settings: AskedSettings;
  /** Absolute; null: a store in memory. */
  readonly store: string | null;
  /** Whether --store was given: lines for the user repeat it. */
  readonly isStoreNamed: boolean;
  readonly session: string | null;
  /** What -c does to a session that has another context. */
  readonly change: "reload" | "append" | null;
  readonly discard: boolean;
  /** Options of the session. */
  readonly options: OptionFlags;
  /** Where the result goes, if the command has one. */
  readonly output: ResultPlace;
  readonly quiet: boolean;
  readonly verbose: boolean;
  /** The arguments as they were typed, for a line that corrects them. */
  readonly typed: readonly string[];
}

export type OptionFlags = Given<typeof OPTION_FLAGS>;

/** Where the last result of a command goes: null for `file` is stdout, for `format` as people read it. */
export interface ResultPlace {
  /** Absolute. */
  readonly file: string | null;
  readonly format: Format | null;
}

/** @throws UsageError for a value that configuration refuses, a wrong name and stdin as two contexts */
export function sessionFlags(args: Arguments, command: string): SessionFlags {
  const help = commandLine(["help", command]);
  const contexts = args.get(CONTEXT);
  if (contexts.filter((path) => path === "-").length > 1) {
    throw new UsageError("stdin can be read only once: -c - is given twice", help);
  }
  const session = args.get(SESSION) ?? null;
  if (session !== null && session !== LAST_SESSION) checkName("session", session, help);
  return {
    command,
    contexts,
    settings: settingsIn(args, help),
    store: args.get(NO_STORE) ? null : storeFolder(args),
    isStoreNamed: args.isGiven(STORE),
    session,
    change: args.get(RELOAD) ? "reload" : args.get(APPEND) ? "append" : null,
    discard: args.get(DISCARD),
    options: optionsIn(args, help),
    output: resultPlace(args, help),
    quiet: args.get(QUIET),
    verbose: args.get(VERBOSE),
    typed: args.typed,
  };
}

function optionsIn(args: Arguments, help: string): OptionFlags {
  const options = givenIn(args, OPTION_FLAGS);
  for (const [option, value] of Object.entries(options)) {
    const problem = optionProblem(option, value);
    const flag = new Map<string, Flag>(Object.entries(OPTION_FLAGS)).get(option);
    if (problem !== null) throw new UsageError(`--${flag?.name} must be ${problem}`, help);
  }
  return options;
}

/** The flag that fills a configuration key. */
export function flagOf(key: string): Flag | undefined {
  return SESSION_FLAGS.find(({ setting }) => setting === key);
}

function settingsIn(args: Arguments, help: string): AskedSettings {
  const roots = args.get(ROOT);
  try {
    const asked = settingsFromTexts(
      (key) => lastText(args, flagOf(key)),
      (key) => `--${flagOf(key)?.name}`,
    );
    return roots.length > 0 ? { ...asked, roots: [...roots] } : asked;
  } catch (error) {
    throw error instanceof RlmError ? new UsageError(error.message, help) : error;
  }
}

/** The text of a flag with one value: configuration reads it. */
function lastText(args: Arguments, flag: Flag | undefined): string | undefined {
  const value = flag && args.get(flag);
  return typeof value === "string" ? value : undefined;
}

function resultPlace(args: Arguments, help: string): ResultPlace {
  const [file, format] = [args.get(OUTPUT), args.get(FORMAT)];
  if (args.get(JSON_OUTPUT) && format !== undefined && file === undefined) {
    throw new UsageError("--json prints envelopes; --format needs --output", help);
  }
  return { file: file === undefined ? null : resolve(file), format: format ?? null };
}

/** The folder that --store names, or the usual one. */
export function storeFolder(args: Pick<Arguments, "get">): string {
  const named = args.get(STORE);
  return named === undefined ? homeFolder(process.env) : resolve(named);
}

/** @throws UsageError for a name that a session cannot have */
export function checkName(flag: string, name: string, tryThis: string): void {
  try {
    checkSessionName(name);
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    throw new UsageError(`--${flag}: ${error.message}. ${error.suggestion.replace(/\.$/, "")}`, tryThis);
  }
}
