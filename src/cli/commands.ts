import type { Arguments, Option } from "./arguments.ts";
import { SESSION_OPTIONS } from "./session-options.ts";

/** A command of `belay`: help, usage errors and dispatch follow from this. */
export interface Command {
  readonly name: string;
  /** What follows its name. */
  readonly usage: string;
  readonly summary: string;
  /** Further paragraphs of `belay help NAME`. */
  readonly details: readonly string[];
  readonly options: readonly Option[];
  /** A line that runs as it stands, in any folder. */
  readonly example: string;
  /** Whether it takes arguments that are no options. */
  readonly positionals: boolean;
  /** Gives the exit code. Loaded when it runs, so that help does not wait for the engine. */
  run(args: Arguments): Promise<number>;
}

const MODEL_USAGE =
  "[--model PROVIDER/ID] [--base-url URL] [--api-key-env NAME] [--max-sub-calls N] [--max-tokens N] [--max-time-ms N] [--max-cost-usd USD] [--concurrency N]";
const LIMITS_USAGE = "[--max-execution-ms N] [--max-output-bytes N] [--max-find-results N] [--memory-mb N] [--quiet]";

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  {
    name: "exec",
    usage: `[FILE | -]... [-e CODE]... [-c PATH]... [--root DIR]... [--dry-run] [--json] ${MODEL_USAGE} ${LIMITS_USAGE}`,
    summary: "run cells (files, -e CODE, stdin) over a context and print their result",
    details: [
      "FILEs, - (stdin) and -e run in the order given, in one session, until one fails.",
      "What a cell prints goes to stdout and stderr. Then its result follows on stdout: what it assigned to `result`, or the value of its last expression. A string is printed as it is, null not at all, the rest as JSON. Warnings and errors go to stderr, and so does result_meta, on a terminal only.",
      "Cells ask a model with `await llm_query(prompt)` or llm_query_batch; --model names it, and --max-sub-calls, --max-tokens, --max-time-ms and --max-cost-usd limit all that they take together. --dry-run runs one cell with placeholders for answers, sends nothing, and prints how many sub-calls, tokens and dollars each place in it would take.",
      "With --json stdout has one JSON object per cell and line, with everything; a context that cannot be loaded gives one too.",
    ],
    options: [
      {
        name: "eval",
        short: "e",
        value: "CODE",
        repeatable: true,
        summary: "run CODE as a cell",
      },
      ...SESSION_OPTIONS,
      {
        name: "dry-run",
        summary: "send nothing, print what the sub-calls of the cell would take; exit code 1 if it threw",
      },
      { name: "json", summary: "print one JSON object per cell, with success, result_json, warnings, budget, ..." },
    ],
    example: `belay exec -e 'list_docs().map(({ id }) => id).slice(0, 5)' -c .`,
    positionals: true,
    run: async (args) => (await import("./exec.ts")).exec(args),
  },
  {
    name: "query",
    usage: `"QUESTION" -c PATH... [--max-sections N] [--search-strategy NAME] [--json] [--root DIR]... ${MODEL_USAGE} ${LIMITS_USAGE}`,
    summary: "answer a question about a context: a model reads the sections that matter",
    details: [
      "Sections of the context are chosen by search, a sub-call notes what each says about the question, and one more puts the notes together. The answer on stdout cites its sources as [path:start-end], in characters of the document. On a terminal stderr lists the sections and what the sub-calls took.",
      'It needs a model: --model, BELAY_MODEL, or "model" in a belay.config.json.',
    ],
    options: [
      ...SESSION_OPTIONS,
      { name: "max-sections", value: "N", summary: "sections to read at the most, 1 to 50 (default 10)" },
      {
        name: "search-strategy",
        value: "NAME",
        summary:
          "regex (words of the question to the letter), bm25 (search), routing (what AGENTS.md and the like name), auto (default)",
      },
      { name: "json", summary: "print one JSON object with answer, sections, warnings, budget, ..." },
    ],
    example: 'belay query "What is TODO here?" -c .',
    positionals: true,
    run: async (args) => (await import("./query.ts")).query(args),
  },
  {
    name: "repl",
    usage: `[-c PATH]... [--root DIR]... ${MODEL_USAGE} ${LIMITS_USAGE}`,
    summary: "explore a context cell by cell; variables stay from one to the next",
    details: [
      "A line that leaves the code open is continued on the next; .help lists the commands. Ctrl-C interrupts a running cell and keeps the variables, Ctrl-D ends.",
      "Piped input runs too, without prompts; the exit code is then 1 if a cell failed.",
    ],
    options: SESSION_OPTIONS,
    example: "echo 'find(\"TODO\").matches.length' | belay repl -c .",
    positionals: false,
    run: async (args) => (await import("./repl.ts")).repl(args),
  },
  {
    name: "doctor",
    usage: "[--json]",
    summary: "check Node, the engine, SQLite, settings and the store folder, and name the cures",
    details: ["Exit code 1 if a check failed; a warning does not count."],
    options: [{ name: "json", summary: "print one JSON object with all checks" }],
    example: "belay doctor",
    positionals: false,
    run: async (args) => (await import("./doctor.ts")).doctor(args),
  },
];
