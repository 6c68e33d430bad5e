import { LIMITS } from "../../../runtime/index.ts";
import type { Given } from "../flags/arguments.ts";
import { OUTPUT_FLAGS, sessionFlagsBut, WAIT_FLAGS, withHelps } from "../flags/declared.ts";
import { choice, count, session, text, toggle, under } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

export const OWN = {
  ...under("input", {
    args: { type: text("JSON"), help: "what the script has as `args`: JSON, @FILE with JSON, or a text" },
    trust: {
      type: toggle,
      excludes: ["dry-run", "init"],
      help: "you have read the script, which came with the project: it counts as yours until its text changes",
    },
  }),
  ...under("model", {
    agent: {
      type: text("NAME"),
      help: "the agent of your configuration that answers agent(); default: a model that reads files",
    },
    init: {
      type: choice(["claude", "codex", "pi"]),
      help: "write this agent into ~/.belay/config.json, and try it with one free question",
    },
  }),
  ...under("run", {
    isNew: { name: "new", type: toggle, excludes: ["reuse"], help: "run it again, as NAME-2, although it has ended" },
    reuse: {
      type: { ...session, word: "RUN" },
      excludes: ["no-store"],
      help: "take over the answers of this run: calls that ask the same are not made again, also after an edit of the script",
    },
    only: {
      type: text("PHASE"),
      needs: ["reuse"],
      help: "make the calls of this phase alone; the run stops with 3 if another call has no answer in RUN",
    },
  }),
  ...under("output", {
    dryRun: {
      type: toggle,
      excludes: ["new", "init"],
      help: "run no agent; print how many each phase would start, and what they could cost",
    },
    assume: {
      type: count(1000),
      needs: ["dry-run"],
      help: "of --dry-run: lists in answers have N items (default: as few as their schema allows)",
    },
  }),
};

export type WorkflowFlags = Given<typeof OWN>;

export const workflow = {
  name: "workflow",
  summary: "run a script that directs agents: agent(), parallel(), pipeline(); it continues after any interruption",
  details: [
    "The script is in the format of Claude Code's dynamic workflows: a FILE, or the NAME of one that is saved in ~/.belay/workflows or ~/.claude/workflows, or in .belay/workflows or .claude/workflows of the project. A project's runs by its name once you have trusted its text. Without a script the saved ones are listed.",
    "agent() asks a model, as a sub-agent that reads files in this folder and --root. With --agent NAME, or agentType in a call, it runs a program of yours that `agents` in ~/.belay/config.json names, such as claude -p or codex exec; --init writes the entry. A project's file cannot name programs.",
    "No agent that has ended is run twice. After kill -9, a crash or a limit of an account the same line goes on, and so does belay resume; after the end the line prints the result again, and pays nothing. An agent that works outlives Belay and a closed terminal, and its answer is taken over; Ctrl-C ends it. If it is unknown what became of one, the run waits until --resend-doubtful starts it again.",
    "After an edit of the script, --reuse RUN makes only the calls that ask something new, and --new pays for all of them. An agent that fails gives null, and the last line then is the one that asks only those again.",
    `At most ${LIMITS.workflowAgents} agents are run (--max-sub-calls), ${LIMITS.workflowAtOnce} at once (--concurrency). What --max-tokens or --max-cost-usd does not allow is not begun: the run waits for belay resume with a higher limit. --dry-run tells the price before.`,
    "The exit code is 0 if the script came to its end, 1 if it threw or agents gave null, 3 if a person has to act first. belay show and belay view tell what each agent did.",
  ],
  takes: { usage: "[FILE|NAME]", completes: "files" },
  own: OWN,
  shared: [
    ...withHelps(sessionFlagsBut("raw", "include-secrets", "encoding", "lossy", "reload", "append", "cache"), {
      session: "the name of the run; default: the workflow's name with a mark of its script and args",
      concurrency: `agents at once (default ${LIMITS.workflowAtOnce})`,
      "max-sub-calls": `agents that may be run (default ${LIMITS.workflowAgents})`,
      "max-tokens": "tokens of all agents, input and output (default 10000000)",
      "max-cost-usd": "dollars of all agents; each command then needs a max_usd; empty: no limit",
      "max-time-ms": "wall time of the run, ms (default 86400000, a day)",
      verbose: "print a line for each agent that ends, and each file that a load leaves out",
      quiet: "no progress on stderr; warnings, errors and what the script logs stay",
    }),
    ...Object.values(WAIT_FLAGS),
    OUTPUT_FLAGS.output,
    OUTPUT_FLAGS.format,
    {
      ...OUTPUT_FLAGS.json,
      help: "print one JSON object with success, result_json, run, agents, warnings, budget, ...",
    },
  ],
  examples: [
    { about: "list the saved workflows", lines: [["workflow"]] },
    {
      about: "say what a script would start, and run it",
      lines: [
        ["workflow", "review.js", "--dry-run"],
        ["workflow", "review.js"],
      ],
    },
  ],
  common: [
    "context",
    "args",
    "trust",
    "model",
    "agent",
    "init",
    "new",
    "reuse",
    "session",
    "concurrency",
    "max-sub-calls",
    "max-cost-usd",
    "dry-run",
    "output",
    "verbose",
    "quiet",
    "json",
  ],
} satisfies CommandWords;
