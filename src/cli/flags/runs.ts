import { extname } from "node:path";
import { statsOf } from "../../platform/paths.ts";
import type { RUN_VERBS } from "../../session/session-name.ts";
import { ROWS } from "../../settings/index.ts";
import { INPUT_FLAGS, SESSION_FLAGS, sessionFlagsBut, withHelps } from "./declared.ts";
import { choice, count, type Flag, one, path, text, toggle, under } from "./flag.ts";
import { commandLine, UsageError } from "./usage.ts";

// The flags of more than one command that has to do with runs.

const FORMATS = ["jsonl", "csv", "table"] as const;

/** The form of results: a line of JSON for each, one table, or its aligned columns on stdout. */
export type Format = (typeof FORMATS)[number];

/** Limits of a whole run. */
export const RUN_LIMITS = under("limits", {
  nanodollars: {
    name: "run-max-cost-usd",
    type: one("USD", "a number of dollars above 0", nanodollarsIn),
    help: "dollars of all jobs of the run together",
  },
  tokens: { name: "run-max-tokens", type: count(), help: "tokens of all jobs of the run together" },
  sub_calls: { name: "run-max-sub-calls", type: count(), help: "sub-calls of all jobs of the run together" },
});

/**
 * Dollars in 10⁻⁹, rounded up; floating point puts 0.1 and the like a little beside a whole number.
 */
function nanodollarsIn(typed: string): number | undefined {
  const value = Number(typed);
  const nano = Math.ceil(value * 1e9 - 1e-3);
  return /^[\d.e+-]+$/i.test(typed) && value > 0 && Number.isSafeInteger(nano) ? nano : undefined;
}

export type Verb = (typeof RUN_VERBS)[number];

export const DEFAULT_QUEUE = "default";

/** pg-boss takes these in names, and has its own endings. */
export function queueIn(typed: string): string | undefined {
  return /^[A-Za-z][\w-]{0,39}$/.test(typed) ? typed : undefined;
}

/** The place of a run's results; exec calls it --output. `-` is stdout. */
export const OUT = under("output", {
  out: {
    short: "o",
    type: path("FILE"),
    excludes: ["output"],
    help: "write the results to FILE, or to stdout (-), in the order of the jobs: a line of JSON for each (.jsonl), or a table (.csv)",
  },
  output: { type: path("FILE"), excludes: ["out"], help: "the same as --out" },
  plain: {
    type: toggle,
    help: "of a table: write texts as they are, without the ' that keeps a spreadsheet from running them",
  },
  format: {
    type: choice(FORMATS),
    help: "of the results, whatever the name of the file ends with; table: aligned columns, on stdout",
  },
});

/** Flags of one session that the user names. */
const NOT_OF_BATCH = [
  ...["session", "label", "no-store", "reload", "append", "discard", "store", "quiet", "verbose"],
  ...["concurrency", "root", "raw", "include-secrets", "encoding", "lossy"],
];

/** The flags that say what each job does. */
export const OF_JOBS: readonly Flag[] = [
  ...withHelps(sessionFlagsBut(...NOT_OF_BATCH), { context: `${INPUT_FLAGS.context.help}: one context for all jobs` }),
  // It fills the setting that `--concurrency` fills elsewhere: here that one counts jobs.
  {
    name: "call-concurrency",
    type: text("N"),
    setting: "concurrency",
    heading: "model",
    help: "sub-calls of one job in flight at once (default 5)",
  },
];

/** Settings that it takes by flags. */
export const OF_WORKER: readonly Flag[] = withHelps(
  SESSION_FLAGS.filter(({ setting }) => ROWS.some(([key, row]) => key === setting && row.ofWorkers)),
  {
    "max-cost-usd": "limit of dollars for each job here, whatever its run says; it does not limit all jobs together",
  },
);

const ENDINGS: Readonly<Record<string, Format>> = { ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv" };

/**
 * The format that was named, else that of the file's ending.
 *
 * @param typed `-`: stdout
 * @throws UsageError
 */
export function formatOf(typed: string, named: Format | undefined, command: string): Format {
  if (named !== undefined) return named;
  const ofEnding = typed === "-" ? "jsonl" : ENDINGS[extname(typed).toLowerCase()];
  if (ofEnding) return ofEnding;
  // A device or a pipe has no ending.
  const target = statsOf(typed);
  if (target && !target.isFile() && !target.isDirectory()) return "jsonl";
  const problem = "its ending is neither .jsonl (a line of JSON for each) nor .csv (a table)";
  const line = commandLine(["help", command]);
  throw new UsageError(`--out ${typed}: ${problem}; add --format csv or --format jsonl`, line);
}
