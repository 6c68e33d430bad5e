import type { Given } from "../flags/arguments.ts";
import { NAMED_FLAGS, OUTPUT_FLAGS } from "../flags/declared.ts";
import { flags, text, texts, words } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const OWN = flags({
  name: { type: text("NAME"), help: "name of the new session" },
  answer: {
    type: texts("CALL=JSON"),
    help: "give this call of the last exec an answer by hand, by its number in belay show: 3='\"yes\"', 3=@FILE",
  },
  skip: {
    type: words("CALL", "numbers of calls", (typed) => /^\w[\w.]*$/.test(typed)),
    help: "record null as the answer of this call, so that the script continues without it",
  },
});

export type ForkFlags = Given<typeof OWN>;

export const fork = {
  name: "fork",
  summary: "create a session from any checkpoint of another one, which does not change",
  details: [
    "Without a checkpoint it begins at the session's current state. RUN/ID names the session of a job. A checkpoint is named by its id, or by a beginning or end of it; belay show lists them. Those within a cell exist while it is unfinished, and afterwards with --keep-steps.",
    "--answer and --skip copy a run or cell with your answers to calls that failed, are in doubt or wait; all other answers are reused. `belay resume` continues the copy.",
  ],
  takes: { usage: "SESSION[@CHECKPOINT]", completes: "sessions" },
  own: OWN,
  shared: [{ ...OUTPUT_FLAGS.json, help: "print one JSON object with the new session" }, NAMED_FLAGS.store],
  examples: [
    {
      lines: [
        ["exec", "-e", "let n = 42", "--session", "demo"],
        ["fork", "demo"],
      ],
    },
  ],
} satisfies CommandWords;
