import type { Given } from "../flags/arguments.ts";
import { STORE } from "../flags/declared.ts";
import { flags, toggle } from "../flags/flag.ts";
import { defineCommand } from "./define.ts";

const OWN = flags({
  discard: { type: toggle, help: "also sessions whose calls wait for a provider's batch: their answers are given up" },
});

export type RmFlags = Given<typeof OWN>;

export const rm = defineCommand({
  name: "rm",
  summary: "drop sessions with their checkpoints",
  details: [
    "Contexts that no session needs any more go with the next belay gc. A session whose row is damaged is dropped by its whole id.",
  ],
  takes: { usage: "SESSION...", completes: "sessions" },
  own: OWN,
  shared: [STORE],
  example: "belay exec -e 'let n = 42' --session scratch && belay rm scratch",
  run: async () => (await import("../store/sessions.ts")).rmCommand,
});
