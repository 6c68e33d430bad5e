import type { Given } from "../flags/arguments.ts";
import { OUTPUT_FLAGS, SESSION_FLAGS, WAIT_FLAGS } from "../flags/declared.ts";
import { texts, toggle, under } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const OWN = {
  ...under("input", { eval: { short: "e", type: texts("CODE"), help: "run CODE as a cell" } }),
  ...under("output", {
    dryRun: {
      type: toggle,
      help: "send nothing, and estimate the cost of the cell's sub-calls; exit code 1 if it threw",
    },
  }),
};

export type ExecFlags = Given<typeof OWN>;

export const exec = {
  name: "exec",
  summary: "run cells (files, -e CODE, stdin) over a context and print their result",
  details: [
    "A cell is JavaScript. It reads the text of -c with peek, find, search and list_docs, and asks a model with llm_query. Its result goes to stdout: the value of its last expression, or what it assigns to `result`. If the command is interrupted, the same line or `belay resume` continues it, and no recorded answer is paid again.",
    "FILEs, - (stdin) and -e run in the order given, in one session, until one fails. Next to -c a FILE must be a script (.js, .ts): each -c takes one path, but a shell expands * to several.",
    "What a cell prints goes to stdout and stderr. Then its result follows on stdout: a string is printed unchanged, null not at all, the rest as JSON; on a terminal places (`find(PATTERN, FLAGS, { docs: true })`, `search(WORDS)`) are lines, path:line:column: text. Warnings and errors go to stderr, and so does result_meta, on a terminal only.",
    "Cells ask a model with `await llm_query(prompt)` or llm_query_batch; --model names it, and --max-sub-calls, --max-tokens, --max-time-ms and --max-cost-usd limit them together. --dry-run runs one cell with placeholders for answers, sends nothing, and estimates the sub-calls, tokens and dollars of each line.",
    "--session NAME continues a session with all its variables, or creates it. -c on an existing session is read again and must match its context.",
    "-o FILE writes the whole result of the last cell before its end is recorded: an interruption leaves no FILE, or all of it, and `belay resume` writes it. If part of the output, the result or a find was left out, a warning says how much, and the exit code is 3.",
    "With --json stdout has one JSON object per cell and line, with everything; a context that cannot be loaded gives one too.",
  ],
  takes: { usage: "[FILE | -]...", completes: "files" },
  own: OWN,
  shared: [
    ...SESSION_FLAGS,
    WAIT_FLAGS.wait,
    OUTPUT_FLAGS.output,
    OUTPUT_FLAGS.format,
    { ...OUTPUT_FLAGS.json, help: "print one JSON object per cell, with success, result_json, warnings, budget, ..." },
  ],
  examples: [
    {
      about: "print the names of the first files",
      lines: [["exec", "-e", "list_docs().map(({ id }) => id).slice(0, 5)", "-c", "."]],
    },
    {
      about: "ask a model about a beginning",
      lines: [["exec", "-e", "await llm_query(`Sum up: ` + peek(0, 4000))", "-c", ".", "--max-sub-calls", "1"]],
    },
    {
      about: "keep variables for the next command",
      lines: [
        ["exec", "-e", "let n = 42", "--session", "demo"],
        ["exec", "-e", "n + 1", "--session", "demo"],
      ],
    },
  ],
  common: [
    "eval",
    "context",
    "model",
    "max-sub-calls",
    "max-cost-usd",
    "session",
    "dry-run",
    "output",
    "format",
    "quiet",
    "json",
  ],
} satisfies CommandWords;
