import type { Given } from "../flags/arguments.ts";
import { NAMED_FLAGS } from "../flags/declared.ts";
import { flags, toggle } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const OWN = flags({
  discard: {
    type: toggle,
    help: "also drop sessions whose calls wait for a provider batch, and give up their answers; and worktrees in which agents have changed something",
  },
});

export type RmFlags = Given<typeof OWN>;

export const rm = {
  name: "rm",
  summary: "drop sessions with their checkpoints",
  details: [
    "The next belay gc drops contexts that no session needs. A session whose row is damaged is dropped only by its whole id.",
    "Agents of a workflow that are at work are ended. A session whose agents have left changes in worktrees is refused by name, unless --discard is given.",
  ],
  takes: { usage: "SESSION...", completes: "sessions" },
  own: OWN,
  shared: [NAMED_FLAGS.store],
  examples: [
    {
      lines: [
        ["exec", "-e", "let n = 42", "--session", "scratch"],
        ["rm", "scratch"],
      ],
    },
  ],
} satisfies CommandWords;
