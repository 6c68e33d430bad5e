import { resolve } from "node:path";
import type { AskedSettings } from "../../config/index.ts";
import { LAST_SESSION } from "../../platform/session-name.ts";
import { optionProblem } from "../../session/index.ts";
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
  SESSION,
  STORE,
  VERBOSE,
} from "./declared.ts";
import type { Flag } from "./flag.ts";
import { commandLine, UsageError } from "./usage.ts";
import { checkName, settingsIn, storePlace } from "./values.ts";

/** The flags of a command that opens a session. */
export interface SessionFlags {
  readonly command: string;
  readonly contexts: readonly string[];
  /** The settings among them. */
  readonly settings: AskedSettings;
  /** Absolute; null: a store in memory. */
  readonly store: string | null;
  /** True if --store was given: lines for the user repeat it. */
  readonly isStoreNamed: boolean;
  readonly session: string | null;
  /** The effect of -c on a session that has another context. */
  readonly change: "reload" | "append" | null;
  readonly discard: boolean;
  /** Options of the session. */
  readonly options: OptionFlags;
  /** The place of the result, if the command has one. */
  readonly output: ResultPlace;
  readonly quiet: boolean;
  readonly verbose: boolean;
  /** The arguments as they were typed, for a line that corrects them. */
  readonly typed: readonly string[];
}

export type OptionFlags = Given<typeof OPTION_FLAGS>;

/** The place of a command's last result: null for `file` is stdout, for `format` as people read it. */
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
    store: args.get(NO_STORE) ? null : storePlace(args),
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

function resultPlace(args: Arguments, help: string): ResultPlace {
  const [file, format] = [args.get(OUTPUT), args.get(FORMAT)];
  if (args.get(JSON_OUTPUT) && format !== undefined && file === undefined) {
    throw new UsageError("--json prints envelopes; --format needs --output", help);
  }
  return { file: file === undefined ? null : resolve(file), format: format ?? null };
}
