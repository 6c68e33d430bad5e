import { extname, resolve } from "node:path";
import { optionProblem, type WaitOptions } from "../../session/index.ts";
import { LAST_SESSION } from "../../session/session-name.ts";
import type { AskedSettings } from "../../settings/index.ts";
import { type Arguments, type Given, givenIn, valuesIn } from "./arguments.ts";
import { type Format, INPUT_FLAGS, NAMED_FLAGS, NO_STORE, OPTION_FLAGS, OUTPUT_FLAGS, WAIT_FLAGS } from "./declared.ts";
import { commandLine, UsageError } from "./usage.ts";
import { checkName, settingsIn, storePlace } from "./values.ts";

/** The flags of a command that opens a session. */
export interface SessionFlags {
  readonly command: string;
  /** Files and folders to load, in order; `-` is stdin. */
  readonly contexts: readonly string[];
  /** The way in which contexts load. */
  readonly loading: ContextLoading;
  /** The settings among the flags. */
  readonly settings: AskedSettings;
  /** Absolute; null: a store in memory. */
  readonly store: string | null;
  /** True if --store was given: lines for the user repeat it. */
  readonly isStoreNamed: boolean;
  /** The name that was typed; null: none. */
  readonly session: string | null;
  /** The effect of -c on a session that has another context. */
  readonly change: "reload" | "append" | null;
  readonly discard: boolean;
  /** The workflow that the command runs; null: none. */
  readonly workflow: AskedWorkflow | null;
  readonly options: OptionFlags;
  /** The place of the result, if the command has one. */
  readonly output: ResultPlace;
  /** Options of waiting for provider batches. */
  readonly waiting: WaitOptions;
  readonly quiet: boolean;
  readonly verbose: boolean;
  /** The arguments as they were typed, for a line that corrects them. */
  readonly typed: readonly string[];
}

/** A workflow that is run, as its session records it. */
export interface AskedWorkflow {
  /** The name that the script gives itself. */
  readonly name: string;
  /** Absolute. */
  readonly file: string;
  /** SHA-256 of the script. */
  readonly text: string;
  /** SHA-256 of script, args and agent. */
  readonly asked: string;
  /** The same with the run whose answers the line names: a beginning of it is in the run's name. */
  readonly mark: string;
  /** The line that began it, without `belay`, and without flags that say how it begins. */
  readonly typed: readonly string[];
  /** The session whose answers it takes over, by its id, and the phase whose calls are made. */
  readonly reuse: { readonly session: string; readonly only?: string | undefined } | null;
  /** --new began it, and its end has not been reported: --new then reports it, in place of running it again. */
  readonly unreported?: true;
}

/** The flags that say how contexts are read. */
interface ContextLoading {
  readonly raw: boolean;
  readonly includeSecrets: boolean;
  readonly encoding: string | undefined;
  readonly lossy: boolean;
}

export type OptionFlags = Given<typeof OPTION_FLAGS>;

/**
 * The place of a command's last result: null for `file` is stdout, for `format` as people read it.
 */
export interface ResultPlace {
  /** Absolute. */
  readonly file: string | null;
  readonly format: Format | null;
}

/**
 * @throws UsageError for a value that configuration refuses, a wrong name and stdin as two contexts
 */
export function sessionFlags(args: Arguments, command: string): SessionFlags {
  const help = commandLine(["help", command]);
  const { context: contexts, raw, includeSecrets, encoding, lossy } = valuesIn(args, INPUT_FLAGS);
  const { session = null, reload, append, discard } = valuesIn(args, NAMED_FLAGS);
  const { quiet, verbose } = valuesIn(args, OUTPUT_FLAGS);
  const { resendDoubtful } = valuesIn(args, WAIT_FLAGS);
  if (contexts.filter((path) => path === "-").length > 1) {
    throw new UsageError("stdin can be read only once: -c - is given twice", help);
  }
  if (session !== null && session !== LAST_SESSION) checkName("--session", session, help);
  const change: "reload" | "append" | null = reload ? "reload" : append ? "append" : null;
  return {
    command,
    contexts,
    loading: { raw, includeSecrets, encoding, lossy },
    settings: settingsIn(args, help),
    store: args.get(NO_STORE) ? null : storePlace(args),
    isStoreNamed: args.isGiven(NAMED_FLAGS.store),
    session,
    change,
    discard,
    workflow: null,
    options: optionsIn(args, help),
    output: resultPlace(args, help),
    waiting: { ...givenIn(args, { wait_ms: WAIT_FLAGS.wait }), resendDoubtful },
    quiet,
    verbose,
    typed: args.typed,
  };
}

function optionsIn(args: Arguments, help: string): OptionFlags {
  for (const [option, flag] of Object.entries(OPTION_FLAGS)) {
    const problem = args.isGiven(flag) ? optionProblem(option, args.get<unknown>(flag)) : null;
    if (problem !== null) throw new UsageError(`--${flag.name} must be ${problem}`, help);
  }
  return givenIn(args, OPTION_FLAGS);
}

/** Endings of files that are something else than what a result can be. */
const NOT_WRITTEN = [".tsv", ".xlsx", ".xls", ".ods", ".parquet", ".gz"];

function resultPlace(args: Arguments, help: string): ResultPlace {
  const { output: file, format, json } = valuesIn(args, OUTPUT_FLAGS);
  if (json && format !== undefined && file === undefined) {
    throw new UsageError("--json prints envelopes; --format needs --output", help);
  }
  const ending = extname(file ?? "").toLowerCase();
  if (format === undefined && NOT_WRITTEN.includes(ending)) {
    throw new UsageError(
      `--output ${file}: ${ending} files are not written; name it .csv (rows), .jsonl (lines) or .json`,
      help,
    );
  }
  return { file: file === undefined ? null : resolve(file), format: format ?? null };
}
