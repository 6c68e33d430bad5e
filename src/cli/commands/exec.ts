import type { Given } from "../flags/arguments.ts";
import { FORMAT, JSON_OUTPUT, OUTPUT, SESSION_FLAGS, WAIT } from "../flags/declared.ts";
import { texts, toggle, under } from "../flags/flag.ts";
import { defineCommand } from "./define.ts";

const OWN = {
  ...under("input", { eval: { short: "e", type: texts("CODE"), help: "run CODE as a cell" } }),
  ...under("output", {
    dryRun: {
      type: toggle,
      help: "send nothing, print what the sub-calls of the cell would take; exit code 1 if it threw",
    },
  }),
};

export type ExecFlags = Given<typeof OWN>;

export const exec = defineCommand({
  name: "exec",
  summary: "run cells (files, -e CODE, stdin) over a context and print their result",
  details: [
    "FILEs, - (stdin) and -e run in the order given, in one session, until one fails. Next to -c a FILE must be a script (.js, .ts): each -c takes one path, and a shell's * makes several.",
    "What a cell prints goes to stdout and stderr. Then its result follows on stdout: what it assigned to `result`, or the value of its last expression. A string is printed as it is, null not at all, the rest as JSON; on a terminal places (`find(PATTERN, FLAGS, { docs: true })`, `search(WORDS)`) are lines, path:line:column: text. Warnings and errors go to stderr, and so does result_meta, on a terminal only.",
    "Cells ask a model with `await llm_query(prompt)` or llm_query_batch; --model names it, and --max-sub-calls, --max-tokens, --max-time-ms and --max-cost-usd limit all that they take together. --dry-run runs one cell with placeholders for answers, sends nothing, and prints how many sub-calls, tokens and dollars each place in it would take.",
    "--session NAME continues a session with all its variables, or makes it. What interrupts a run (Ctrl-C, a crash) leaves it where it was: `belay resume`, or the same command again, goes on from there, and recorded answers are not requested again. -c on a session is read again and must be what it has.",
    "-o FILE writes the whole result of the last cell before its end is recorded: what interrupts the run leaves no FILE, or all of it, and `belay resume` writes it. If something was left out, of the output, the result or a find, a warning says how much, and the exit code is 3.",
    "With --json stdout has one JSON object per cell and line, with everything; a context that cannot be loaded gives one too.",
  ],
  takes: { usage: "[FILE | -]...", completes: "files" },
  own: OWN,
  shared: [
    ...SESSION_FLAGS,
    WAIT,
    OUTPUT,
    FORMAT,
    { ...JSON_OUTPUT, help: "print one JSON object per cell, with success, result_json, warnings, budget, ..." },
  ],
  example: `belay exec -e 'list_docs().map(({ id }) => id).slice(0, 5)' -c .`,
  run: async () => (await import("../running/exec.ts")).execCommand,
});
