import { DEFAULT_ASK_MS } from "../../../runtime/index.ts";
import { SETTINGS } from "../../settings/index.ts";
import type { Given } from "../flags/arguments.ts";
import { OUTPUT_FLAGS, sessionFlagsBut, VERBOSE_TURNS, WAIT_FLAGS, withHelps, withTime } from "../flags/declared.ts";
import { choice, count, type Flag, optionalPath, path, text, under } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const MOST_TURNS = 100;

const OWN = {
  ...under("limits", {
    maxTurns: {
      type: count(MOST_TURNS),
      help: `turns before the model must answer without code, 1 to ${MOST_TURNS} (default 20)`,
    },
    turnTokens: { type: count(), help: "output tokens of a turn, thinking included (default 16000)" },
  }),
  ...under("model", {
    subModel: { type: text("PROVIDER/ID"), help: "model of the sub-calls that cells make (default: --model)" },
    protocol: {
      type: choice(["auto", "tools", "fence"]),
      help: "how the model runs cells: with a tool, in fenced blocks, or with a tool unless the provider refuses (auto, default)",
    },
  }),
  ...under("output", {
    view: {
      type: optionalPath("FILE"),
      excludes: ["no-store"],
      help: "also write the page of the answer, with its sources and what was not read: one HTML file (default answer-SESSION.html)",
    },
    schema: { type: path("FILE"), help: "JSON Schema that the answer fits; it is then printed as JSON" },
  }),
};

/** Elsewhere it is the model of sub-calls. */
const MODEL = SETTINGS.model.flag.help.replace("model of sub-calls", "the model that answers");

export type AskFlags = Given<typeof OWN>;

export const ask = {
  name: "ask",
  summary: "answer a question about a context: a model explores it by writing cells",
  details: [
    "The model sees the size of the context, never the context itself: it writes cells, reads what they print, and writes the next, until it answers. The answer is on stdout; the places that it cites are on stderr, path:line. --view writes a page of the answer that you can share.",
    "Each reply is recorded before its cell runs. After an interruption (Ctrl-C, a crash) `belay resume`, or the same command with --session NAME, continues the ask, and recorded replies are not requested again. Its cells run in the session: `belay exec -e NAME --session S` sees their variables afterwards.",
    "--model names the model that writes cells. --max-turns, --max-tokens, --max-sub-calls, --max-time-ms and --max-cost-usd limit the ask; the last turn is always reserved for an answer. Each new ask has its full limits. One that met a limit says so and exits with 3.",
    "The exit code is 1 without an answer; --json says why.",
  ],
  takes: { usage: '"QUESTION"', completes: "anything" },
  own: OWN,
  shared: [
    ...withHelps(withTurns(sessionFlagsBut("verbose"), DEFAULT_ASK_MS), { model: MODEL }),
    { ...VERBOSE_TURNS, help: `${VERBOSE_TURNS.help}, and every file that a load leaves out` },
    OUTPUT_FLAGS.trajectory,
    WAIT_FLAGS.wait,
    { ...OUTPUT_FLAGS.json, help: "print one JSON object with answer, citations, usage, ..." },
  ],
  examples: [
    { about: "ask about the files of this folder", lines: [["ask", "What is this project for?", "-c", "."]] },
    {
      about: "also write a page of the answer with its sources",
      lines: [["ask", "What is left to do?", "-c", ".", "--view=answer.html"]],
    },
    {
      about: "keep the session, and ask it again",
      lines: [
        ["ask", "Which files have a TODO?", "-c", ".", "--session", "todo"],
        ["ask", "Which one is oldest?", "--session", "todo"],
      ],
    },
  ],
  common: [
    "context",
    "model",
    "sub-model",
    "session",
    "max-turns",
    "max-cost-usd",
    "max-time-ms",
    "view",
    "schema",
    "verbose",
    "quiet",
    "json",
  ],
} satisfies CommandWords;

/** The flags of an ask, whose limits hold for its turns too. */
function withTurns(flags: readonly Flag[], usualMs: number): readonly Flag[] {
  return withHelps(withTime(flags, usualMs), {
    "max-sub-calls": `sub-calls that cells may make; turns are not among them (default ${SETTINGS.max_sub_calls.default})`,
    "max-tokens": `tokens of all turns and sub-calls, input and output (default ${SETTINGS.max_tokens.default})`,
    "max-cost-usd": "dollars of all turns and sub-calls, by the models' price lists; empty: no limit",
  });
}
