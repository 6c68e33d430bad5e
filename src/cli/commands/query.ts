import { SEARCH_STRATEGIES } from "../../query/index.ts";
import type { Given } from "../flags/arguments.ts";
import { OUTPUT_FLAGS, sessionFlagsBut } from "../flags/declared.ts";
import { choice, count, under } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const MOST_SECTIONS = 50;

/** Flags, by the option of a query that each fills. */
const OWN = {
  ...under("limits", {
    maxSections: {
      type: count(MOST_SECTIONS),
      help: `sections to read, 1 to ${MOST_SECTIONS} (default 10)`,
    },
  }),
  ...under("input", {
    searchStrategy: {
      type: { ...choice(SEARCH_STRATEGIES), word: "NAME" },
      help: "regex (words of the question, literally), bm25 (search), routing (what AGENTS.md and the like name), auto (default)",
    },
  }),
};

export type QueryFlags = Given<typeof OWN>;

export const query = {
  name: "query",
  summary: "answer a question about a context: a model reads the sections that matter",
  details: [
    "Sections of the context are chosen by search, a sub-call notes what each says about the question, and one more puts the notes together. The answer on stdout cites its sources as [path:line], of a converted document as [lease.pdf p.3]; a source that was not read is marked.",
    "If the question's words find little, one more sub-call names other words; if these find nothing either, sections at equal distances are read. If nothing that was read helps, the exit code is 1 (no_match). On a terminal stderr lists the sections and what the sub-calls took.",
    "It reads at most --max-sections sections, and it cannot count: use a cell for that (`belay exec -e 'count(PATTERN)' -c PATH`).",
    'It needs a model: --model, BELAY_MODEL, or "model" in a belay.config.json.',
  ],
  takes: { usage: '"QUESTION"', completes: "anything" },
  own: OWN,
  shared: [
    ...sessionFlagsBut("delivery"),
    OUTPUT_FLAGS.output,
    OUTPUT_FLAGS.format,
    { ...OUTPUT_FLAGS.json, help: "print one JSON object with answer, sections, warnings, budget, ..." },
  ],
  examples: [
    { about: "ask about the files of this folder", lines: [["query", "What is TODO here?", "-c", "."]] },
    {
      about: "read three sections at most, and print JSON",
      lines: [["query", "What is TODO here?", "-c", ".", "--max-sections", "3", "--json"]],
    },
  ],
  common: ["context", "model", "session", "max-sections", "max-cost-usd", "output", "quiet", "json"],
} satisfies CommandWords;
