import { LIMITS } from "../../../runtime/index.ts";
import { LIMIT_DEFAULTS, type Settings } from "../../config/index.ts";
import { ageFrom } from "../../platform/figures.ts";
import { choice, type Flag, flag, flags, type Heading, one, path, paths, session, text, toggle } from "./flag.ts";

// The flags of more than one command. A flag of one command alone is declared with its command.

const usual = (key: keyof typeof LIMIT_DEFAULTS) => LIMIT_DEFAULTS[key];

export const CONTEXT = flag({
  name: "context",
  short: "c",
  type: paths("PATH"),
  heading: "input",
  help: "load this file or folder as the context P; further ones are appended; - is stdin",
});

export const ROOT = flag({
  name: "root",
  type: paths("DIR"),
  heading: "input",
  setting: "roots",
  help: "also allow symlinks of a context to lead into DIR; every -c PATH is allowed by itself",
});

export const RAW = flag({
  name: "raw",
  type: toggle,
  heading: "input",
  needs: ["context"],
  help: "load files as they are: HTML and notebooks with their markup, and no text of PDF or Office files",
});

export const INCLUDE_SECRETS = flag({
  name: "include-secrets",
  type: toggle,
  heading: "input",
  needs: ["context"],
  help: "also load files of a folder that may contain secrets: .env, *.pem, *.key, id_rsa, .npmrc, .ssh/ and the like",
});

const INPUT: readonly Flag[] = [CONTEXT, ROOT, RAW, INCLUDE_SECRETS];

/** A flag that fills a setting and has its name. Configuration reads the value, and judges it. */
function setting(heading: Heading, key: keyof Settings, help: string, word = "N"): Flag {
  return flag({ name: key.replaceAll("_", "-"), type: text(word), setting: key, heading, help });
}

/** A server of one's own, and its key. */
export const MODEL_SERVER: readonly Flag[] = [
  setting(
    "model",
    "base_url",
    "an OpenAI-compatible server for sub-calls; the provider's name in --model is then free (local/NAME); empty: none",
    "URL",
  ),
  setting("model", "api_key_env", "another environment variable that holds the API key; empty: none", "NAME"),
];

/** Commands whose calls are sent at once do not have it. */
const DELIVERY: Flag = setting(
  "model",
  "delivery",
  "now (default), or batch: calls go by batches of their provider at half the price, which answers within minutes to 24 hours; the command may end meanwhile, and the same line goes on",
  "HOW",
);

const MODEL: readonly Flag[] = [
  setting(
    "model",
    "model",
    "model of sub-calls, such as anthropic/claude-sonnet-5 (`belay models` lists them); its key is in the provider's usual variable (ANTHROPIC_API_KEY) or in Pi's auth.json",
    "PROVIDER/ID",
  ),
  ...MODEL_SERVER,
  setting(
    "model",
    "price",
    "dollars per million tokens, in and out, of models whose price no list knows, such as 3/15",
    "IN/OUT",
  ),
  setting(
    "model",
    "thinking",
    "how much models think first: off (default: as little as the model can), minimal, low, medium, high, xhigh or max; counts in max_tokens",
    "LEVEL",
  ),
  DELIVERY,
  setting("model", "concurrency", `sub-calls in flight at once (default ${usual("concurrency")})`),
];

/** Flags of which some have other words in a command, by their names. */
export function withHelps(flags: readonly Flag[], helps: Readonly<Record<string, string>>): readonly Flag[] {
  return flags.map((shared) => ({ ...shared, help: helps[shared.name] ?? shared.help }));
}

/** The flags of a command that has a time of its own if nobody sets one, ms. */
export function withTime(flags: readonly Flag[], usualMs: number): readonly Flag[] {
  return withHelps(flags, { "max-time-ms": `wall time inside cells and turns, ms (default ${usualMs})` });
}

/** A flag that limits. */
const limit = (key: keyof typeof LIMIT_DEFAULTS, help: string, word?: string) => setting("limits", key, help, word);

const LIMIT_FLAGS: readonly Flag[] = [
  limit("max_sub_calls", `sub-calls that may be made (default ${usual("max_sub_calls")})`),
  limit("max_tokens", `tokens of all sub-calls, input and output (default ${usual("max_tokens")})`),
  limit("max_time_ms", `wall time inside cells, ms (default ${usual("max_time_ms")})`),
  limit("max_cost_usd", "dollars of all sub-calls, by the model's price list; empty: no limit", "USD"),
  flag({
    name: "depth",
    type: text("N"),
    setting: "max_depth",
    heading: "limits",
    help: `levels of sub-calls that have a context and cells of their own, 0 to ${LIMITS.maxDepth} (default ${usual("max_depth")})`,
  }),
  limit("max_execution_ms", `running time of a cell, waiting excepted, ms (default ${usual("max_execution_ms")})`),
  limit("max_output_bytes", `what a cell may print, bytes (default ${usual("max_output_bytes")})`),
  limit(
    "max_result_bytes",
    `result of a cell as JSON, bytes (default ${usual("max_result_bytes")}, at most ${LIMITS.wholeResultBytes})`,
  ),
  limit("max_find_results", `matches that one find returns (default ${usual("max_find_results")})`),
  limit("memory_mb", `heap of the cells, 8 to 2048 (default ${usual("memory_mb")}); P comes on top`),
  limit("max_session_mb", `space that a session takes in the store, MB (default ${usual("max_session_mb")})`),
];

export const STORE = flag({
  name: "store",
  type: path("DIR|URL"),
  heading: "session",
  help: "folder, or URL of PostgreSQL (postgres://…), that keeps sessions (default BELAY_STORE, BELAY_HOME, or ~/.belay)",
});

export const SESSION = flag({
  name: "session",
  short: "s",
  type: session,
  heading: "session",
  help: "continue this session, or make it; without a name it is kept for a day after its last use",
});

export const RELOAD = flag({
  name: "reload",
  type: toggle,
  heading: "session",
  excludes: ["append"],
  needs: ["context", "session"],
  help: "-c replaces the context of a session; variables, helpers, memory and budget start anew",
});

export const APPEND = flag({
  name: "append",
  type: toggle,
  heading: "session",
  needs: ["context", "session"],
  help: "-c is added to the context of a session; everything else stays",
});

export const DISCARD = flag({
  name: "discard",
  type: toggle,
  heading: "session",
  needs: ["session"],
  help: "give up what was interrupted in the session, and go on from before it",
});

/**
 * Flags that fill an option of the session, by the option's name. Those that are `kept` are recorded with the session
 * under the flag's name, with `_` for `-`.
 */
export const OPTION_FLAGS = flags({
  onRestart: {
    type: choice(["send", "fail"]),
    heading: "session",
    kept: { usual: "send", mustBeDecided: true },
    help: "sub-calls in flight when the process ended: send them again (default), or let them fail in the cell",
  },
  cache: {
    type: toggle,
    heading: "session",
    kept: { usual: false, mustBeDecided: false },
    help: "take answers of earlier identical sub-calls with `tools: []` from the store",
  },
  keepSteps: {
    type: toggle,
    heading: "session",
    kept: { usual: false, mustBeDecided: false },
    help: "keep the checkpoints within a cell after its end, so that `belay fork` can use them",
  },
  label: {
    type: text("TEXT"),
    heading: "session",
    help: "what the session is for: a line of up to 200 characters that `belay sessions` shows; empty: none",
  },
});

const OF_STORE: readonly Flag[] = [SESSION, STORE, RELOAD, APPEND, DISCARD, ...Object.values(OPTION_FLAGS)];

const OTLP: Flag = setting(
  "output",
  "otlp",
  "send the spans of each ask or exec that ends to this collector of OpenTelemetry (docs/telemetry.md); env: to that of OTEL_EXPORTER_OTLP_ENDPOINT; empty: to none",
  "URL|env",
);

export const NO_STORE = flag({
  name: "no-store",
  type: toggle,
  heading: "session",
  excludes: [...OF_STORE, OTLP].map(({ name }) => name).filter((name) => name !== "on-restart"),
  help: "keep nothing: what is interrupted is lost",
});

/** Time that a command waits for providers' batches. */
export const WAIT = flag({
  name: "wait",
  type: one("TIME", "a time such as 0, 90s, 10min or 2h", waitIn),
  heading: "model",
  help: "of calls by batch: end with exit code 4 after TIME in which only providers could go on (default: wait to the end)",
});

function waitIn(typed: string): number | undefined {
  const [, seconds] = /^(\d{1,6})s$/.exec(typed) ?? [];
  return typed === "0" ? 0 : seconds === undefined ? ageFrom(typed) : Number(seconds) * 1000;
}

export const RESEND_DOUBTFUL = flag({
  name: "resend-doubtful",
  type: toggle,
  heading: "model",
  help: "make batches again of which nobody can tell whether they were made: their calls may be paid for twice",
});

export const VERBOSE = flag({
  name: "verbose",
  type: toggle,
  heading: "output",
  help: "list every file that a load leaves out, up to 1,000, with its reason",
});

/** `--verbose` of a command that takes the turns of an ask. */
export const VERBOSE_TURNS: Flag = {
  ...VERBOSE,
  help: "print what the model says, its cells and their output on stderr",
};

export const TRAJECTORY = flag({
  name: "trajectory",
  type: toggle,
  heading: "output",
  help: "tell at the end what the model said in each turn, its cells and their output: on stderr, with --json in the object",
});

export const QUIET = flag({
  name: "quiet",
  short: "q",
  type: toggle,
  heading: "output",
  help: "no progress and no skipped files on stderr; warnings and errors stay",
});

/** The flags of every command that opens a session. */
export const SESSION_FLAGS: readonly Flag[] = [
  ...INPUT,
  ...MODEL,
  ...OF_STORE,
  NO_STORE,
  ...LIMIT_FLAGS,
  OTLP,
  VERBOSE,
  QUIET,
];

/** The flags of such a command without those of these names. */
export const sessionFlagsBut = (...names: readonly string[]): readonly Flag[] =>
  SESSION_FLAGS.filter(({ name }) => !names.includes(name));

/** Forms of a result: JSON, a line of JSON for each item, rows of a table, or a string as it is. */
export const FORMATS = ["json", "jsonl", "csv", "raw"] as const;
export type Format = (typeof FORMATS)[number];

export const OUTPUT = flag({
  name: "output",
  short: "o",
  type: { ...one("FILE", "a file; on stdout the result is without it", fileIn, "files"), isPath: true },
  heading: "output",
  help: "write the last result to FILE, whole up to 100 MB: a string as it is, else JSON, unless --format says otherwise",
});

function fileIn(typed: string): string | undefined {
  return typed === "-" ? undefined : typed;
}

export const FORMAT = flag({
  name: "format",
  type: choice(FORMATS),
  heading: "output",
  help: "the last result as JSON, JSON lines of an array, CSV of rows, or a string as it is. On stdout nothing else is then printed: what cells print goes to stderr",
});

/** The flag --json. Each command's own help says what is printed. */
export const JSON_OUTPUT = flag({ name: "json", type: toggle, heading: "output", help: "print one JSON object" });
