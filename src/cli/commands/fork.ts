import type { Given } from "../flags/arguments.ts";
import { NAMED_FLAGS, OUTPUT_FLAGS } from "../flags/declared.ts";
import { flags, text } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const OWN = flags({ name: { type: text("NAME"), help: "what the new session is called" } });

export type ForkFlags = Given<typeof OWN>;

export const fork = {
  name: "fork",
  summary: "create a session from any checkpoint of another one, which does not change",
  details: [
    "Without a checkpoint it begins at the session's current state. RUN/ID names the session of a job. A checkpoint is named by its id, or by a beginning or end of it; belay show lists them. Those within a cell exist while it is unfinished, and afterwards with --keep-steps.",
  ],
  takes: { usage: "SESSION[@CHECKPOINT]", completes: "sessions" },
  own: OWN,
  shared: [{ ...OUTPUT_FLAGS.json, help: "print one JSON object with the new session" }, NAMED_FLAGS.store],
  example: "belay exec -e 'let n = 42' --session demo && belay fork demo",
} satisfies CommandWords;
