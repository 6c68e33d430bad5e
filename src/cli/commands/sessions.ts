import type { Given } from "../flags/arguments.ts";
import { NAMED_FLAGS, OUTPUT_FLAGS } from "../flags/declared.ts";
import { flags, toggle } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const OWN = flags({
  all: { type: toggle, help: "list all sessions, not only 20, including those of jobs" },
  named: { type: toggle, help: "only named sessions" },
  unfinished: { type: toggle, help: "only sessions that can be resumed" },
});

export type SessionsFlags = Given<typeof OWN>;

export const sessions = {
  name: "sessions",
  summary: "list sessions with their state, calls, cost and size",
  details: [
    "The one changed last comes first. Calls, tokens and cost cover the session's whole life. An unnamed session goes by the end of its id; @last is the one changed last, those of Pi and of jobs left out. `belay jobs` lists the jobs of a run; their sessions are shown here with --all.",
  ],
  own: OWN,
  shared: [{ ...OUTPUT_FLAGS.json, help: "print one JSON object with all sessions that fit" }, NAMED_FLAGS.store],
  examples: [{ lines: [["sessions"]] }],
} satisfies CommandWords;
