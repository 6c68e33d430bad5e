import { OUTPUT_FLAGS, sessionFlagsBut, VERBOSE_TURNS, WAIT_FLAGS } from "../flags/declared.ts";
import type { CommandWords } from "./define.ts";

/**
 * A session that is resumed is named without a flag and has its context, and there is only one
 * thing to do with it.
 */
const SHARED = sessionFlagsBut(
  ...[
    "context",
    "raw",
    "include-secrets",
    "encoding",
    "lossy",
    "session",
    "no-store",
    "reload",
    "append",
    "discard",
    "verbose",
  ],
);

export const resume = {
  name: "resume",
  summary: "finish interrupted work, then run the cells that follow it",
  details: [
    "Without a name it takes the session that was interrupted last; RUN/ID names that of a job. Sub-calls with recorded answers are not sent again; those that were in flight are, unless --on-restart fail makes them fail in the cell.",
    "If nothing was interrupted, the recorded outcome of the last cell, query or ask is printed again. Settings are those that the session was created with, if you created it and its store has not moved; flags change them.",
  ],
  takes: { usage: "[SESSION]", completes: "sessions" },
  own: {},
  shared: [
    ...SHARED,
    { ...VERBOSE_TURNS, help: `of an ask: ${VERBOSE_TURNS.help}` },
    { ...OUTPUT_FLAGS.trajectory, help: `of an ask: ${OUTPUT_FLAGS.trajectory.help}` },
    ...Object.values(WAIT_FLAGS),
    OUTPUT_FLAGS.output,
    OUTPUT_FLAGS.format,
    { ...OUTPUT_FLAGS.json, help: "print one JSON object per cell, as exec does" },
  ],
  examples: [
    { about: "finish what was interrupted last", lines: [["resume"]] },
    { about: "finish a session by its name", lines: [["resume", "demo"]] },
  ],
  common: [
    "model",
    "max-sub-calls",
    "max-cost-usd",
    "on-restart",
    "wait",
    "store",
    "output",
    "quiet",
    "verbose",
    "json",
  ],
} satisfies CommandWords;
