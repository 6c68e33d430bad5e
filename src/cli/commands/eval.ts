import { SUITES, tokensIn } from "../../eval/suites.ts";
import type { Given } from "../flags/arguments.ts";
import { INPUT_FLAGS, NAMED_FLAGS, OUTPUT_FLAGS, WAIT_FLAGS } from "../flags/declared.ts";
import { count, path, paths, toggle, under, words } from "../flags/flag.ts";
import { OF_JOBS, RUN_LIMITS } from "../flags/runs.ts";
import { concurrency, failFast, first, isNew, name, rate, retryChanged, retryFailed, wait } from "./batch.ts";
import type { CommandWords } from "./define.ts";

const OWN = {
  ...under("input", {
    against: {
      type: words("METHODS", "direct, bm25 or none", (text) => ["direct", "bm25", "none"].includes(text)),
      help: "what Belay's ask is compared with: direct (one prompt with the context, cut to the model's window), bm25 (one prompt with the best passages), or none (default direct,bm25)",
    },
    baseline: {
      type: words("NAMES", "names in `agents` of your configuration", isAgentName),
      help: "coding agents to compare with, such as claude: entries of `agents` in ~/.belay/config.json. Each works in a copy of a question's files, is asked the same, and is paid by you",
    },
    size: {
      type: words("SIZES", "sizes from 8k to 10M tokens, such as 32k,1M", (text) => tokensIn(text) !== undefined),
      help: "tokens of each context, 8k to 10M: 32k,1M makes the questions at both sizes (default 32k)",
    },
    items: {
      name: "n",
      type: count(1000),
      help: "questions of each suite and size (default 5); of --data the first N (default all)",
    },
    seed: { type: count(), help: "makes other texts and questions (default 1)" },
    data: {
      type: paths("FILE"),
      help: "questions of a file. Your own: on each line { question, answer, context or file }, and id, suite, size and score if you like. Or those of OOLONG or LongBench v2 as they are published, .jsonl, .json or .parquet (docs/eval.md)",
    },
    root: {
      type: paths("DIR"),
      needs: ["data"],
      help: "the files of --data may also be in DIR; the folder of --data is always allowed",
    },
  }),
  ...under("model", {
    window: {
      type: count(),
      help: "tokens that a prompt and its answer may have together (default: what the catalogue or the server says of the model)",
    },
  }),
  ...under("output", {
    folder: {
      name: "out",
      short: "o",
      type: path("DIR"),
      help: "folder for contexts and reports (default belay-eval)",
    },
    dryRun: { type: toggle, help: "send nothing: estimate the cost of all jobs from the first of each kind" },
  }),
  name,
  isNew,
  first,
  concurrency,
  retryFailed,
  retryChanged,
  failFast,
  rate,
  wait,
  resendDoubtful: {
    ...WAIT_FLAGS.resendDoubtful,
    help: "start an agent, and create a provider batch, again if it is unknown whether the first has ended: it may be billed twice",
  },
};

function isAgentName(text: string): boolean {
  return /^[A-Za-z][\w-]{0,39}$/.test(text);
}

export type EvalFlags = Given<typeof OWN>;

const ABOUT = Object.entries(SUITES).map(([suite, { about }]) => `${suite} (${about})`);

export const evaluate = {
  name: "eval",
  summary: "measure how good answers are, what they cost, and where other methods are better",
  details: [
    `Suites: ${ABOUT.join("; ")}. Without SUITE all of them are asked. Each question has a context of its own, made by --seed, and an answer that is known by construction. --data asks questions of your own, or those of OOLONG and LongBench v2.`,
    "Each question is asked in three ways: by an ask over the context, by one prompt with the context cut to the model's window, and by one prompt with its best passages by BM25. --baseline adds coding agents of yours, each in a copy of the question's files. The table has scores with their spread, and the cost of an answer. Below it are the cases where the ask loses.",
    "It is a run of `belay batch`: the same line continues, also after Ctrl-C or a crash, and pays nothing twice. A larger --n or another --size adds jobs. --dry-run estimates the price, --first N measures it, and --run-max-cost-usd limits it. `belay jobs`, `belay show RUN/JOB` and `belay view RUN` know the run.",
    "With several sizes there are curves of score and price by size, and the size at which the ask overtakes each other method: it scores at least as much for no more, from there on.",
    "DIR/RUN has report.md, report.html with the same as a page, results.jsonl with a line for each answer, and items.jsonl with the questions in the form of --data. The contexts are next to it, by hash.",
    "Exit codes are those of belay batch: 0 if all jobs are done, whatever they score. docs/eval.md explains the figures and their limits.",
  ],
  takes: { usage: "[SUITE ...]", completes: Object.keys(SUITES) },
  own: OWN,
  shared: [
    ...OF_JOBS.filter((flag) => flag.name !== INPUT_FLAGS.context.name),
    ...Object.values(RUN_LIMITS),
    NAMED_FLAGS.store,
    OUTPUT_FLAGS.quiet,
    {
      ...OUTPUT_FLAGS.json,
      help: "print one JSON object with the run, the table and where the ask loses; progress on stderr is JSON lines",
    },
  ],
  examples: [
    { about: "estimate what one suite costs", lines: [["eval", "needle", "--n", "1", "--dry-run"]] },
    { about: "estimate what questions of your own cost", lines: [["eval", "--data", "questions.jsonl", "--dry-run"]] },
  ],
  common: [
    "data",
    "size",
    "n",
    "against",
    "baseline",
    "model",
    "concurrency",
    "first",
    "retry-failed",
    "run-max-cost-usd",
    "dry-run",
    "out",
    "quiet",
    "json",
  ],
} satisfies CommandWords;
