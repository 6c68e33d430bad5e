import type { Given } from "../flags/arguments.ts";
import { NAMED_FLAGS, OUTPUT_FLAGS } from "../flags/declared.ts";
import { flags, text, texts, words } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const OWN = flags({
  name: { type: text("NAME"), help: "what the new session is called" },
  answer: {
    type: texts("CALL=JSON"),
    help: "give this call of the last exec an answer by hand, by its number in belay show: 3='\"yes\"', 3=@FILE; repeatable",
  },
  skip: {
    type: words("CALL", "numbers of calls", (typed) => /^\w[\w.]*$/.test(typed)),
    help: "record null as the answer of this call, so that the script goes on without it; repeatable",
  },
});

export type ForkFlags = Given<typeof OWN>;

export const fork = {
  name: "fork",
  summary: "create a session from any checkpoint of another one, which does not change",
  details: [
    "Without a checkpoint it begins at the session's current state. RUN/ID names the session of a job. A checkpoint is named by its id, or by a beginning or end of it; belay show lists them. Those within a cell exist while it is unfinished, and afterwards with --keep-steps.",
    "--answer and --skip go on with a copy of a run or cell in which calls have the answers that you give: one that failed, is in doubt or waits. All other answers are taken over. Then `belay resume` of the new session continues it.",
  ],
  takes: { usage: "SESSION[@CHECKPOINT]", completes: "sessions" },
  own: OWN,
  shared: [{ ...OUTPUT_FLAGS.json, help: "print one JSON object with the new session" }, NAMED_FLAGS.store],
  example: "belay exec -e 'let n = 42' --session demo && belay fork demo",
} satisfies CommandWords;
