import { ageFrom } from "../../platform/figures.ts";
import type { Given } from "../flags/arguments.ts";
import { JSON_OUTPUT, STORE } from "../flags/declared.ts";
import { flags, one, toggle } from "../flags/flag.ts";
import { defineCommand } from "./define.ts";

const OWN = flags({
  /** ms. */
  olderThan: {
    type: one("AGE", "an age such as 30d, 12h or 2w", ageFrom),
    help: "also drop named sessions that were last changed so long ago: 30d, 12h, 2w",
  },
  pi: { type: toggle, needs: ["older-than"], help: "--older-than counts for the sessions of Pi too" },
  dryRun: { type: toggle, help: "only say what would go" },
});

export type GcFlags = Given<typeof OWN>;

export const gc = defineCommand({
  name: "gc",
  summary: "drop what no session needs, and give the space back",
  details: [
    "Finished sessions without a name go when they are a day old. Those with a name go only with --older-than, and those of Pi only with --pi too.",
  ],
  own: OWN,
  shared: [{ ...JSON_OUTPUT, help: "print one JSON object with what went" }, STORE],
  example: "belay gc --dry-run",
  run: async () => (await import("../store/gc.ts")).gcCommand,
});
