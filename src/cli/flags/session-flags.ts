import { extname, resolve } from "node:path";
import { LAST_SESSION } from "../../platform/session-name.ts";
import { optionProblem, type WaitOptions } from "../../session/index.ts";
import { type Arguments, type Given, givenIn, valuesIn } from "./arguments.ts";
import { type Format, INPUT, NO_STORE, OF_OUTPUT, OF_SESSION, OPTION_FLAGS, WAITING } from "./declared.ts";
import { commandLine, UsageError } from "./usage.ts";
import { checkName, settingsIn, storePlace } from "./values.ts";

/** The flags of a command that opens a session. */
export type SessionFlags = Readonly<ReturnType<typeof sessionFlags>>;

export type OptionFlags = Given<typeof OPTION_FLAGS>;

/** The place of a command's last result: null for `file` is stdout, for `format` as people read it. */
export interface ResultPlace {
  /** Absolute. */
  readonly file: string | null;
  readonly format: Format | null;
}

/** @throws UsageError for a value that configuration refuses, a wrong name and stdin as two contexts */
export function sessionFlags(args: Arguments, command: string) {
  const help = commandLine(["help", command]);
  const { context: contexts, raw, includeSecrets, encoding, lossy } = valuesIn(args, INPUT);
  const { session = null, reload, append, discard } = valuesIn(args, OF_SESSION);
  const { quiet, verbose } = valuesIn(args, OF_OUTPUT);
  const { resendDoubtful } = valuesIn(args, WAITING);
  if (contexts.filter((path) => path === "-").length > 1) {
    throw new UsageError("stdin can be read only once: -c - is given twice", help);
  }
  if (session !== null && session !== LAST_SESSION) checkName("--session", session, help);
  const change: "reload" | "append" | null = reload ? "reload" : append ? "append" : null;
  return {
    command,
    contexts,
    /** The way in which contexts load. */
    loading: { raw, includeSecrets, encoding, lossy },
    /** The settings among them. */
    settings: settingsIn(args, help),
    /** Absolute; null: a store in memory. */
    store: args.get(NO_STORE) ? null : storePlace(args),
    /** True if --store was given: lines for the user repeat it. */
    isStoreNamed: args.isGiven(OF_SESSION.store),
    session,
    /** The effect of -c on a session that has another context. */
    change,
    discard,
    options: optionsIn(args, help),
    /** The place of the result, if the command has one. */
    output: resultPlace(args, help),
    /** Options of waiting for providers' batches. */
    waiting: { ...givenIn(args, { wait_ms: WAITING.wait }), resendDoubtful } satisfies WaitOptions,
    quiet,
    verbose,
    /** The arguments as they were typed, for a line that corrects them. */
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
  const { output: file, format, json } = valuesIn(args, OF_OUTPUT);
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
