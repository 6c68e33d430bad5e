import { STORE } from "../flags/declared.ts";
import { defineCommand } from "./define.ts";

export const rm = defineCommand({
  name: "rm",
  summary: "drop sessions with their checkpoints",
  details: [
    "Contexts that no session needs any more go with the next belay gc. A session whose row is damaged is dropped by its whole id.",
  ],
  takes: { usage: "SESSION...", completes: "sessions" },
  own: {},
  shared: [STORE],
  example: "belay exec -e 'let n = 42' --session scratch && belay rm scratch",
  run: async () => (await import("../store/rm.ts")).rmCommand,
});
