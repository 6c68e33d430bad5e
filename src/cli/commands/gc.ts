import { ageFrom } from "../../platform/figures.ts";
import type { Given } from "../flags/arguments.ts";
import { NAMED_FLAGS, OUTPUT_FLAGS } from "../flags/declared.ts";
import { flags, one, toggle } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const OWN = flags({
  /** ms. */
  olderThan: {
    type: one("AGE", "an age such as 30d, 12h or 2w", ageFrom),
    help: "also drop named sessions that were last changed that long ago: 30d, 12h, 2w",
  },
  pi: { type: toggle, needs: ["older-than"], help: "apply --older-than to the sessions of Pi too" },
  dryRun: { type: toggle, help: "only report what would be dropped" },
});

export type GcFlags = Given<typeof OWN>;

export const gc = {
  name: "gc",
  summary: "drop what no session needs, and free the space",
  details: [
    "Unnamed finished sessions are dropped a day after their last use, named ones only with --older-than, and those of Pi only with --pi too. Outboxes and worktrees of agents go with their session; each worktree is named.",
  ],
  own: OWN,
  shared: [{ ...OUTPUT_FLAGS.json, help: "print one JSON object with what was dropped" }, NAMED_FLAGS.store],
  examples: [{ lines: [["gc", "--dry-run"]] }],
} satisfies CommandWords;
