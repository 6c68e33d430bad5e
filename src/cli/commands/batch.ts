import { DEFAULT_JOB_MS } from "../../../runtime/index.ts";
import { ageFrom } from "../../platform/figures.ts";
import { isRunName } from "../../session/session-name.ts";
import type { Given } from "../flags/arguments.ts";
import { INPUT_FLAGS, NAMED_FLAGS, OUTPUT_FLAGS, WAIT_FLAGS, withTime } from "../flags/declared.ts";
import { choice, count, one, path, paths, text, texts, toggle, under } from "../flags/flag.ts";
import { DEFAULT_QUEUE, OF_JOBS, OUT, queueIn, RUN_LIMITS } from "../flags/runs.ts";
import type { CommandWords } from "./define.ts";

const runNameIn = (typed: string): string | undefined => (isRunName(typed) ? typed : undefined);

const OWN = {
  ...under("input", {
    jobs: {
      type: { ...path("INPUTS"), read: onlyInputs },
      help: "the inputs: .jsonl (a JSON value on each line), .json (an array), .csv or .tsv (a row is an object), each also with .gz, .xlsx, .ods, .parquet, a database of SQLite, - (JSON lines on stdin), or a folder or pattern in quotes, each file of which is the context of a job",
    },
    contextField: {
      type: text("FIELD"),
      excludes: ["context"],
      help: "each job has its own context: the file or folder that this field of its input names",
    },
    root: {
      type: paths("DIR"),
      needs: ["context-field"],
      help: "the paths of --context-field may also lead into DIR; the table's folder is always allowed",
    },
    id: {
      type: text("FIELD"),
      help: "the field that names a job, or none, which numbers them (default: id, of a file its path, else the number of a table's row or a hash of the input)",
    },
    delimiter: {
      type: one("C", "one character, or tab", delimiterIn),
      help: "the character between the columns of a table, such as ';' or tab (default: a comma, of .tsv a tab); stdin is then a table too",
    },
    columns: {
      type: one("A,B,C", "names with commas between them, each once", columnsIn),
      help: "the names of a table's columns, instead of those in its first row",
    },
    noHeader: {
      type: toggle,
      help: "the first row of a table is a job too; without --columns its columns are column_1, column_2 and so on",
    },
    sheet: { type: text("NAME"), excludes: ["table"], help: "the sheet of a workbook that has several" },
    table: { type: text("NAME"), excludes: ["sheet"], help: "the table of a database that has several" },
    only: { type: texts("JOB"), help: "run only these inputs, by their ids" },
    where: {
      type: text("EXPRESSION"),
      help: "run only the inputs for which an expression is true, such as 'job.stars <= 2'",
    },
  }),
  ...under("run", {
    init: {
      type: toggle,
      excludes: ["dry-run", "first", "detach", "context"],
      help: "write a commented SCRIPT.js for the inputs, and print the next line to type: belay batch --init reviews.csv",
    },
    name: {
      type: one(
        "NAME",
        "up to 100 letters, digits, spaces and ._~- (and no word of belay jobs, such as out)",
        runNameIn,
      ),
      help: "name of the run (default: the script's name and a hash of what it does)",
    },
    isNew: { name: "new", type: toggle, help: "start another run, NAME-2, even if NAME exists" },
    fresh: {
      type: toggle,
      excludes: ["cache"],
      help: "reuse no answers of earlier runs; jobs of the run that reused some run again",
    },
    first: {
      type: count(),
      excludes: ["dry-run", "detach"],
      help: "run only the first N inputs, keep their results, and estimate the cost of all inputs",
    },
    concurrency: {
      type: count(10_000),
      help: "jobs at once in this process (default: two for each core, at most one for each 64 MB of memory)",
    },
    retryFailed: { type: toggle, help: "retry failed jobs" },
    retryChanged: { type: toggle, help: "run jobs again whose input or context has changed" },
    retryCancelled: { type: toggle, help: "retry cancelled jobs" },
    retries: {
      type: count(100, 0),
      help: "retries of a job whose machine or context was lost (default 2)",
    },
    failFast: { type: count(), help: "pause the run after N failures" },
    rate: {
      type: texts("RATE"),
      help: "limit of requests or tokens to a provider, for all workers together: anthropic=60/min, anthropic=10/2min, or anthropic=60/min,100000tok/min",
    },
    onBudget: {
      type: choice(["park", "fail"]),
      help: "when the run's limit is spent: park its jobs and pause it (default), or make calls fail in the cell",
    },
    queue: {
      type: one("NAME", "up to 40 letters, digits, - and _, beginning with a letter", queueIn),
      help: `the queue of a server's store whose workers do the work (default ${DEFAULT_QUEUE})`,
    },
    share: { type: count(8), help: "the run's share among open runs of a server's store, 1 to 8 (default 1)" },
    detach: {
      type: toggle,
      excludes: ["no-work"],
      help: "submit the run to a server's store and return: `belay worker` works on it",
    },
    noWork: {
      type: toggle,
      excludes: ["detach"],
      help: "only follow the run to its end: `belay worker` does the work",
    },
    keep: {
      type: one("AGE", "an age such as 30d, 12h or 2w", ageFrom),
      help: "how long the journals of finished jobs stay (default 30d)",
    },
    keepSessions: {
      type: toggle,
      help: "keep the whole sessions of finished jobs, so that `belay fork` can use them",
    },
  }),
  wait: WAIT_FLAGS.wait,
  resendDoubtful: WAIT_FLAGS.resendDoubtful,
  ...under("output", {
    dryRun: {
      type: toggle,
      help: "send nothing: run the first 3 jobs with placeholders for answers, and estimate the cost of all",
    },
    ...OUT,
    unordered: { type: toggle, help: "write results as jobs finish, not in input order" },
  }),
};

function delimiterIn(typed: string): string | undefined {
  if (typed === "tab" || typed === "\\t") return "\t";
  return /^[^"\r\n]$/.test(typed) ? typed : undefined;
}

function columnsIn(typed: string): readonly string[] | undefined {
  const names = typed.split(",").map((name) => name.trim());
  return names.includes("") || new Set(names).size < names.length ? undefined : names;
}

/** Other flags take their last value: here the rows of the first one would be missing. */
function onlyInputs(typed: readonly string[], fail: (value: string, takes: string) => Error): string | undefined {
  const [jobs, other] = typed;
  if (other === undefined) return jobs;
  throw fail(other, `one path, and ${jobs} stands there already; a pattern in quotes makes a job of each of its files`);
}

export type BatchFlags = Given<typeof OWN>;

/** The flags of a command that makes its jobs itself. */
export const { name, isNew, first, concurrency, retryFailed, retryChanged, failFast, rate, wait } = OWN;

export const batch = {
  name: "batch",
  summary: "run a script over many inputs, and continue after an interruption",
  details: [
    "Each input is a job: SCRIPT.js runs once for it, in its own session. --init writes such a script for a table: change its question and its schema, and type the line that it prints. After Ctrl-C, a crash or a full disk the same line continues the run: only calls in flight are paid again.",
    "`job` is the input: the value of a line, the columns of a row (`job.text`), or { path } of a file, whose text is `P`. Results are a line for each input, in their order.",
    "When the same line continues a run, finished jobs do not run again, an interrupted job resumes at its `await`, and recorded answers are not requested again. New inputs are added. A changed one is named before anything is written: --retry-changed runs it again. Another script, model or limit makes another run; --new starts over. Answers of earlier runs of the same script file or table to equal questions are reused and counted: --fresh and --new ask again. Results are those of the inputs of this line.",
    "A job that throws has failed, and the others continue: belay jobs RUN --state failed says why, and --retry-failed runs these again with their current inputs; with --model OTHER another model answers them, within the same run. A job whose machine was lost is retried automatically.",
    "--run-max-cost-usd, --run-max-tokens and --run-max-sub-calls limit the run; --max-cost-usd and its like limit each job. They are never exceeded: money is reserved before a request is sent. When the run's limit is spent, its jobs are parked; a higher limit continues them.",
    "Runs and their jobs are kept in the store. With a folder only this process works; with --store postgres://HOST/DB any number of `belay worker` processes. See docs/batch.md.",
    "With --delivery batch the calls of all jobs go through their provider's batch API, at half the price, and are answered within minutes to 24 hours. Meanwhile Ctrl-C or --wait ends the command, and the same line takes the answers. Each await of a script is a separate wave, so use llm_query_batch for many calls.",
    "A line of results has job, n, status, result, error_code, error, suggestion, output, sub_calls, tokens, cost_usd, ms, attempts, resumed and session. The exit code is 0 if all jobs are done, 1 if some failed or were cancelled, 3 if the run is unfinished (parked or paused) or a job lacks part of what was asked for, such as a result over its limit, and 4 if only a provider batch is pending. With --detach it is 0 once all jobs are submitted.",
  ],
  takes: { usage: "SCRIPT.js --jobs INPUTS", completes: "files" },
  own: OWN,
  shared: [
    ...withTime(OF_JOBS, DEFAULT_JOB_MS),
    ...Object.values(RUN_LIMITS),
    // The files of --jobs are contexts, too.
    { ...INPUT_FLAGS.raw, needs: [] },
    { ...INPUT_FLAGS.includeSecrets, needs: [] },
    { ...INPUT_FLAGS.encoding, needs: [] },
    { ...INPUT_FLAGS.lossy, needs: [] },
    NAMED_FLAGS.store,
    OUTPUT_FLAGS.quiet,
    { ...OUTPUT_FLAGS.json, help: "print one JSON object with the state of the run; progress on stderr is JSON lines" },
  ],
  examples: [
    { about: "write reviews.js, a script for the rows of a table", lines: [["batch", "--init", "reviews.csv"]] },
    { about: "estimate the cost of all rows", lines: [["batch", "reviews.js", "--jobs", "reviews.csv", "--dry-run"]] },
    {
      about: "run it over the rows, and later continue it",
      lines: [["batch", "reviews.js", "--jobs", "reviews.csv", "-o", "out.jsonl"]],
    },
  ],
  common: [
    "jobs",
    "id",
    "where",
    "context",
    "init",
    "first",
    "new",
    "retry-failed",
    "concurrency",
    "model",
    "delivery",
    "wait",
    "store",
    "max-cost-usd",
    "run-max-cost-usd",
    "dry-run",
    "out",
    "quiet",
    "json",
  ],
} satisfies CommandWords;
