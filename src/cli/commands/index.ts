import type { Arguments, Option } from "../flags/arguments.ts";
import { SESSION_OPTIONS } from "../flags/session-flags.ts";
import { STORE_OPTION } from "../flags/store-flags.ts";
import type { Host } from "../host.ts";
import { OUTPUT_OPTIONS } from "../running/delivery.ts";

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
  run(args: Arguments, host: Host): Promise<number>;
}

const MODEL_USAGE =
  "[--model PROVIDER/ID] [--base-url URL] [--api-key-env NAME] [--max-sub-calls N] [--max-tokens N] [--max-time-ms N] [--max-cost-usd USD] [--concurrency N]";
const SESSION_USAGE =
  "[--session NAME] [--reload | --append] [--discard] [--on-restart send|fail] [--cache] [--keep-steps] [--store DIR | --no-store]";
const LIMITS_USAGE =
  "[--max-execution-ms N] [--max-output-bytes N] [--max-result-bytes N] [--max-find-results N] [--memory-mb N] [--verbose | --quiet]";

/** A session that is resumed has its context, and there is but one thing to do with it. */
const NOT_OF_RESUME = ["context", "session", "no-store", "reload", "append", "discard"];

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  {
    name: "exec",
    usage: `[FILE | -]... [-e CODE]... [-c PATH]... [--root DIR]... [-o FILE] [--format json|jsonl|csv|raw] [--dry-run] [--json] ${SESSION_USAGE} ${MODEL_USAGE} ${LIMITS_USAGE}`,
    summary: "run cells (files, -e CODE, stdin) over a context and print their result",
    details: [
      "FILEs, - (stdin) and -e run in the order given, in one session, until one fails. Next to -c a FILE must be a script (.js): each -c takes one path, and a shell's * makes several.",
      "What a cell prints goes to stdout and stderr. Then its result follows on stdout: what it assigned to `result`, or the value of its last expression. A string is printed as it is, null not at all, the rest as JSON; on a terminal places (`find(PATTERN, FLAGS, { docs: true })`) are lines, path:line:column: text. Warnings and errors go to stderr, and so does result_meta, on a terminal only.",
      "Cells ask a model with `await llm_query(prompt)` or llm_query_batch; --model names it, and --max-sub-calls, --max-tokens, --max-time-ms and --max-cost-usd limit all that they take together. --dry-run runs one cell with placeholders for answers, sends nothing, and prints how many sub-calls, tokens and dollars each place in it would take.",
      "--session NAME continues a session with all its variables, or makes it. What interrupts a run (Ctrl-C, a crash) leaves it where it was: `belay resume`, or the same command again, goes on from there, and recorded answers are not requested again. -c on a session is read again and must be what it has.",
      "-o FILE writes the whole result of the last cell before its end is recorded: what interrupts the run leaves no FILE, or all of it, and `belay resume` writes it. Where something was left out, of the output, the result or a find, a warning says how much, and the exit code is 3.",
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
      ...OUTPUT_OPTIONS,
      {
        name: "dry-run",
        summary: "send nothing, print what the sub-calls of the cell would take; exit code 1 if it threw",
      },
      { name: "json", summary: "print one JSON object per cell, with success, result_json, warnings, budget, ..." },
    ],
    example: `belay exec -e 'list_docs().map(({ id }) => id).slice(0, 5)' -c .`,
    positionals: true,
    run: async (args, host) => (await import("../running/exec.ts")).exec(args, host),
  },
  {
    name: "query",
    usage: `"QUESTION" -c PATH... [--max-sections N] [--search-strategy NAME] [-o FILE] [--format json|jsonl|csv|raw] [--json] [--root DIR]... ${SESSION_USAGE} ${MODEL_USAGE} ${LIMITS_USAGE}`,
    summary: "answer a question about a context: a model reads the sections that matter",
    details: [
      "Sections of the context are chosen by search, a sub-call notes what each says about the question, and one more puts the notes together. The answer on stdout cites its sources as [path:line]. If the question's words find little, one more sub-call names other words; if these find nothing either, sections at equal distances are read. If nothing that was read helps, the exit code is 1 (no_match). On a terminal stderr lists the sections and what the sub-calls took.",
      "It reads at most --max-sections sections, and it does not count: how often something occurs is a cell's job (`belay exec -e 'find(PATTERN).matches.length' -c PATH`).",
      'It needs a model: --model, BELAY_MODEL, or "model" in a belay.config.json.',
    ],
    options: [
      ...SESSION_OPTIONS,
      ...OUTPUT_OPTIONS,
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
    run: async (args, host) => (await import("../running/query.ts")).query(args, host),
  },
  {
    name: "repl",
    usage: `[-c PATH]... [--root DIR]... ${SESSION_USAGE} ${MODEL_USAGE} ${LIMITS_USAGE}`,
    summary: "explore a context cell by cell; variables stay from one to the next",
    details: [
      "A line that leaves the code open is continued on the next; .help lists the commands. Ctrl-C interrupts a running cell and keeps the variables, Ctrl-D ends. The session is kept: --session NAME continues it.",
      "Piped input runs too, without prompts; the exit code is then 1 if a cell failed.",
    ],
    options: SESSION_OPTIONS,
    example: "echo 'find(\"TODO\").matches.length' | belay repl -c .",
    positionals: false,
    run: async (args, host) => (await import("../repl/repl.ts")).repl(args, host),
  },
  {
    name: "demo",
    usage: "[--json]",
    summary: "watch it explore, ask, be killed with kill -9 and go on, in a few seconds and without a key",
    details: [
      "Twelve short letters lie in a temporary folder, with a store of its own; both are gone afterwards. Real processes run: one is killed by SIGKILL while its sub-calls are in flight, and another resumes it. The model is scripted: a server in this process that goes by words.",
    ],
    options: [{ name: "json", summary: "print one JSON object with what was counted" }],
    example: "belay demo",
    positionals: false,
    run: async (args, host) => (await import("../demo/demo.ts")).demo(args, host),
  },
  {
    name: "resume",
    usage: `[SESSION] [-o FILE] [--format json|jsonl|csv|raw] [--json] [--on-restart send|fail] [--cache] [--keep-steps] [--store DIR] ${MODEL_USAGE} ${LIMITS_USAGE}`,
    summary: "finish what was interrupted, then run the cells that were to follow",
    details: [
      "Without a name it takes the session that was interrupted last. Sub-calls whose answers are recorded are not sent again; those that were in flight are, unless --on-restart fail lets them fail in the cell.",
      "Where nothing was interrupted, the recorded outcome of the last cell or query is printed again. Settings are those that the session was begun with, if you began it and its store has not moved; flags change them.",
    ],
    options: [
      ...SESSION_OPTIONS.filter(({ name }) => !NOT_OF_RESUME.includes(name)),
      ...OUTPUT_OPTIONS,
      { name: "json", summary: "print one JSON object per cell, as exec does" },
    ],
    example: "belay resume",
    positionals: true,
    run: async (args, host) => (await import("../running/resume.ts")).resume(args, host),
  },
  {
    name: "sessions",
    usage: "[--all] [--named] [--unfinished] [--json] [--store DIR]",
    summary: "list sessions with their state, calls, cost and size",
    details: [
      "The one changed last comes first. Calls, tokens and cost are of the session's whole life. A session without a name is shown, and known, by the end of its id; @last is the one changed last, those of Pi left out.",
    ],
    options: [
      { name: "all", summary: "list them all, not only 20" },
      { name: "named", summary: "only those that have a name" },
      { name: "unfinished", summary: "only those that can be resumed" },
      { name: "json", summary: "print one JSON object with all sessions that fit" },
      STORE_OPTION,
    ],
    example: "belay sessions",
    positionals: false,
    run: async (args, host) => (await import("../store/sessions.ts")).sessions(args, host),
  },
  {
    name: "show",
    usage: "[SESSION] [--exec N | --last] [--call N] [--json] [--store DIR]",
    summary: "show the execs, sub-calls and checkpoints of a session, also after a crash",
    details: [
      "A session is known by its name, by its id, by the end of its id (six characters or more), or as @last. Without SESSION it is the one changed last, and stderr names it.",
      "Execs and their calls are numbered. --exec N shows what was run, printed and answered; --call N shows a prompt and its answer whole, of the exec that --exec names or of the last one that made calls. With --json all of it is there.",
    ],
    options: [
      { name: "exec", value: "N", summary: "show this exec whole" },
      { name: "last", summary: "show the last exec whole" },
      { name: "call", value: "N", summary: "show this sub-call whole" },
      { name: "json", summary: "print one JSON object with all of it, or with the exec or call that is named" },
      STORE_OPTION,
    ],
    example: "belay exec -e 'let n = 42' --session demo && belay show demo",
    positionals: true,
    run: async (args, host) => (await import("../store/show.ts")).show(args, host),
  },
  {
    name: "fork",
    usage: "SESSION[@CHECKPOINT] [--name NAME] [--json] [--store DIR]",
    summary: "make a new session from any checkpoint of another, which stays as it is",
    details: [
      "Without a checkpoint it begins where the session stands. A checkpoint is known by its id, or by a beginning or end of it; belay show lists them. Those within a cell are there while it is unfinished, and afterwards with --keep-steps.",
    ],
    options: [
      { name: "name", value: "NAME", summary: "what the new session is called" },
      { name: "json", summary: "print one JSON object with the new session" },
      STORE_OPTION,
    ],
    example: "belay exec -e 'let n = 42' --session demo && belay fork demo",
    positionals: true,
    run: async (args, host) => (await import("../store/fork.ts")).fork(args, host),
  },
  {
    name: "rm",
    usage: "SESSION... [--store DIR]",
    summary: "drop sessions with their checkpoints",
    details: ["Contexts that no session needs any more go with the next belay gc."],
    options: [STORE_OPTION],
    example: "belay exec -e 'let n = 42' --session scratch && belay rm scratch",
    positionals: true,
    run: async (args, host) => (await import("../store/rm.ts")).rm(args, host),
  },
  {
    name: "gc",
    usage: "[--older-than AGE] [--pi] [--dry-run] [--json] [--store DIR]",
    summary: "drop what no session needs, and give the space back",
    details: [
      "Finished sessions without a name go when they are a day old. Those with a name go only with --older-than, and those of Pi only with --pi too.",
    ],
    options: [
      {
        name: "older-than",
        value: "AGE",
        summary: "also drop named sessions that were last changed so long ago: 30d, 12h, 2w",
      },
      { name: "pi", summary: "--older-than counts for the sessions of Pi too" },
      { name: "dry-run", summary: "only say what would go" },
      { name: "json", summary: "print one JSON object with what went" },
      STORE_OPTION,
    ],
    example: "belay gc --dry-run",
    positionals: false,
    run: async (args, host) => (await import("../store/gc.ts")).gc(args, host),
  },
  {
    name: "doctor",
    usage: "[--json] [--store DIR]",
    summary: "check Node, the engine, SQLite, settings and all that is stored, and name the cures",
    details: ["Exit code 1 if a check failed; a warning does not count. Every row of the store is read."],
    options: [{ name: "json", summary: "print one JSON object with all checks" }, STORE_OPTION],
    example: "belay doctor",
    positionals: false,
    run: async (args, host) => (await import("../doctor/doctor.ts")).doctor(args, host),
  },
  {
    name: "completion",
    usage: "bash|zsh|fish [--store DIR]",
    summary: "print what makes a shell complete commands, options and names of sessions",
    details: [
      "For bash put `source <(belay completion bash)` into ~/.bashrc, for zsh `source <(belay completion zsh)` into ~/.zshrc after compinit. For fish run `belay completion fish > ~/.config/fish/completions/belay.fish` once.",
      "`belay completion sessions` prints the names of sessions, one a line: the shell asks it while you type.",
    ],
    options: [STORE_OPTION],
    example: "belay completion bash",
    positionals: true,
    run: async (args, host) => (await import("../completion/completion.ts")).completion(args, host, COMMANDS),
  },
];
