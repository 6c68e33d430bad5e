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

const LIMITS_USAGE = "[--max-execution-ms N] [--max-output-bytes N] [--max-find-results N] [--memory-mb N] [--quiet]";

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  {
    name: "exec",
    usage: `[FILE | -]... [-e CODE]... [-c PATH]... [--root DIR]... [--json] ${LIMITS_USAGE}`,
    summary: "run cells (files, -e CODE, stdin) over a context and print their result",
    details: [
      "FILEs, - (stdin) and -e run in the order given, in one session, until one fails.",
      "What a cell prints goes to stdout and stderr. Then its result follows on stdout: what it assigned to `result`, or the value of its last expression. A string is printed as it is, null not at all, the rest as JSON. Warnings and errors go to stderr, and so does result_meta, on a terminal only.",
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
      { name: "json", summary: "print one JSON object per cell, with success, result_json, warnings, budget, ..." },
    ],
    example: `belay exec -e 'list_docs().map(({ id }) => id).slice(0, 5)' -c .`,
    positionals: true,
    run: async (args) => (await import("./exec.ts")).exec(args),
  },
  {
    name: "repl",
    usage: `[-c PATH]... [--root DIR]... ${LIMITS_USAGE}`,
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
    summary: "check Node, the engine, the store folder and SQLite, and say how to cure what is wrong",
    details: ["Exit code 1 if a check failed; a warning does not count."],
    options: [{ name: "json", summary: "print one JSON object with all checks" }],
    example: "belay doctor",
    positionals: false,
    run: async (args) => (await import("./doctor.ts")).doctor(args),
  },
];
