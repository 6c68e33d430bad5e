import { isEncoding } from "../../platform/encodings.ts";
import { ageFrom } from "../../platform/figures.ts";
import { ROWS, SETTINGS, type SettingFlag } from "../../settings/index.ts";
import { choice, type Flag, type Heading, one, path, paths, session, text, toggle, under } from "./flag.ts";

// The flags of more than one command. A flag of one command alone is declared with its command.

const encodingIn = (typed: string) => (isEncoding(typed) ? typed : undefined);

export const INPUT_FLAGS = under("input", {
  context: {
    short: "c",
    type: paths("PATH"),
    help: "load this file or folder as the context P; more are appended; - is stdin",
  },
  root: {
    type: paths(SETTINGS.roots.flag.word),
    setting: "roots",
    help: SETTINGS.roots.flag.help,
  },
  raw: {
    type: toggle,
    needs: ["context"],
    help: "load files unconverted: HTML and notebooks with their markup, and no text of PDF or Office files",
  },
  includeSecrets: {
    type: toggle,
    needs: ["context"],
    help: "also load files of a folder that may contain secrets: .env, *.pem, id_rsa, .npmrc, .ssh/, .mcp.json and the like",
  },
  encoding: {
    type: one("NAME", "an encoding such as latin1, windows-1251, gbk, shift_jis or utf-16le", encodingIn),
    needs: ["context"],
    help: "the encoding of texts without a byte order mark: latin1, gbk, shift_jis, utf-16le and the like (default UTF-8)",
  },
  lossy: {
    type: toggle,
    needs: ["context"],
    help: "read bytes that do not decode as U+FFFD, and report how many; without it a text may have a few",
  },
});

/**
 * The flags of settings that stand under a heading, in the order of the table. Configuration reads
 * their values, and judges them.
 */
function settingFlags(heading: Heading): readonly Flag[] {
  return FLAGS.filter(({ row }) => row.heading === heading && !row.isOfServer).map(({ flag }) => flag);
}

const FLAGS = ROWS.flatMap(([key, { flag: row }]) =>
  row === undefined ? [] : [{ row, flag: flagOfSetting(key, row) }],
);

function flagOfSetting(key: string, { name = key.replaceAll("_", "-"), word = "N", heading, help }: SettingFlag): Flag {
  return { name, type: text(word), setting: key, heading, help };
}

const MODEL = settingFlags("model");

/** A server of one's own, and its key. */
export const MODEL_SERVER = MODEL.filter(({ setting }) => setting === "base_url" || setting === "api_key_env");

/** The size that a context may have. */
export const CONTEXT_SIZE = settingFlags("limits").filter(
  ({ setting }) => setting === "max_context_mb" || setting === "max_files",
);

/** Flags of which some have other words in a command, by their names. */
export function withHelps(flags: readonly Flag[], helps: Readonly<Record<string, string>>): readonly Flag[] {
  return flags.map((shared) => ({ ...shared, help: helps[shared.name] ?? shared.help }));
}

/** The flags of a command that has a time of its own if nobody sets one, ms. */
export function withTime(flags: readonly Flag[], usualMs: number): readonly Flag[] {
  return withHelps(flags, { "max-time-ms": `wall time inside cells and turns, ms (default ${usualMs})` });
}

export const NAMED_FLAGS = under("session", {
  session: {
    short: "s",
    type: session,
    help: "continue this session, or create it; unnamed sessions are deleted a day after their last use",
  },
  store: {
    type: path("DIR|URL"),
    help: "folder, or URL of PostgreSQL (postgres://…), that keeps sessions (default BELAY_STORE, BELAY_HOME, or ~/.belay)",
  },
  reload: {
    type: toggle,
    excludes: ["append"],
    needs: ["context", "session"],
    help: "-c replaces the context of a session; variables, helpers, memory and budget start anew",
  },
  append: {
    type: toggle,
    needs: ["context", "session"],
    help: "add new and changed files of -c to the context of a session; everything else stays",
  },
  discard: {
    type: toggle,
    needs: ["session"],
    help: "give up interrupted work of the session, and continue from before it",
  },
});

/** Flags that fill an option of the session, by the option's name. */
export const OPTION_FLAGS = under("session", {
  onRestart: {
    type: choice(["send", "fail"]),
    help: "sub-calls in flight when the process died: send them again (default), or make them fail in the cell",
  },
  cache: { type: toggle, help: "take answers of earlier identical sub-calls with `tools: []` from the store" },
  keepSteps: {
    type: toggle,
    help: "keep the checkpoints within a cell after its end, so that `belay fork` can use them",
  },
  label: {
    type: text("TEXT"),
    help: "purpose of the session, which `belay sessions` shows: a line of up to 200 characters; empty: none",
  },
});

const OF_STORE: readonly Flag[] = [...Object.values(NAMED_FLAGS), ...Object.values(OPTION_FLAGS)];

const OTLP = settingFlags("output");

export const { noStore: NO_STORE } = under("session", {
  noStore: {
    type: toggle,
    excludes: [...OF_STORE, ...OTLP].map(({ name }) => name).filter((name) => name !== "on-restart"),
    help: "save nothing: interrupted work is lost",
  },
});

export const WAIT_FLAGS = under("model", {
  /** Time that a command waits for provider batches. */
  wait: {
    type: one("TIME", "a time such as 0, 90s, 10min or 2h", waitIn),
    help: "with --delivery batch: exit with 4 after TIME in which only providers could make progress (default: wait to the end)",
  },
  resendDoubtful: {
    type: toggle,
    help: "create provider batches again if it is unknown whether the first create succeeded: their calls may be billed twice",
  },
});

function waitIn(typed: string): number | undefined {
  const [, seconds] = /^(\d{1,6})s$/.exec(typed) ?? [];
  return typed === "0" ? 0 : seconds === undefined ? ageFrom(typed) : Number(seconds) * 1000;
}

/**
 * Forms of a result: JSON, a line of JSON for each item, rows as CSV or as aligned columns, or a
 * string as it is.
 */
export const FORMATS = ["json", "jsonl", "csv", "table", "raw"] as const;
export type Format = (typeof FORMATS)[number];

export const OUTPUT_FLAGS = under("output", {
  verbose: { type: toggle, help: "list every file that a load leaves out, up to 1,000, with its reason" },
  trajectory: {
    type: toggle,
    help: "print at the end what the model said in each turn, its cells and their output: on stderr, with --json in the object",
  },
  quiet: { short: "q", type: toggle, help: "no progress and no skipped files on stderr; warnings and errors stay" },
  output: {
    short: "o",
    type: { ...one("FILE", "a file; on stdout the result is without it", fileIn, "files"), isPath: true },
    help: "write the last result to FILE, up to 100 MB: strings unchanged, else rows (.csv), lines (.jsonl) or JSON, unless --format is given",
  },
  format: {
    type: choice(FORMATS),
    help: "the last result as JSON, JSON lines of an array, rows as CSV or as a table with aligned columns, or a raw string. Stdout then has nothing else: output of cells goes to stderr",
  },
  /** Each command's own help says what is printed. */
  json: { type: toggle, help: "print one JSON object" },
});

function fileIn(typed: string): string | undefined {
  return typed === "-" ? undefined : typed;
}

/** `--verbose` of a command that takes the turns of an ask. */
export const VERBOSE_TURNS: Flag = {
  ...OUTPUT_FLAGS.verbose,
  help: "print what the model says, its cells and their output on stderr",
};

/** The flags of every command that opens a session. */
export const SESSION_FLAGS: readonly Flag[] = [
  ...Object.values(INPUT_FLAGS),
  ...MODEL,
  ...OF_STORE,
  ...[NO_STORE, ...settingFlags("limits"), ...OTLP, OUTPUT_FLAGS.verbose, OUTPUT_FLAGS.quiet],
];

/** The flags of a server that keeps a session for a client. */
export const SERVER_FLAGS: readonly Flag[] = FLAGS.filter(({ row }) => row.isOfServer).map(({ flag }) => flag);

/** The flags of such a command without those of these names. */
export const sessionFlagsBut = (...names: readonly string[]): readonly Flag[] =>
  SESSION_FLAGS.filter(({ name }) => !names.includes(name));
