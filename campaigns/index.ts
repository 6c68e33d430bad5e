import { startNamed } from "../scripts/named.ts";

// Long trials of one promise each. Most take a seed, print figures, and end with exit code 1 if something was wrong.

await startNamed("npm run campaign --", {
  crash: {
    about: "kills execs, asks and functions, and compares with runs that nobody killed",
    start: () => import("./crash.ts"),
  },
  batch: {
    about: "kills workers of a run, over a folder or PostgreSQL, by batches of a provider too",
    start: () => import("./batch.ts"),
  },
  pi: { about: "kills Pi in the middle of calls", start: () => import("./pi.ts") },
  "pi-long": { about: "long conversations in Pi: what requests come to", start: () => import("./pi-long.ts") },
  "read-cache": {
    about: "random reads in Pi, against a model that believes every answer",
    start: () => import("./read-cache.ts"),
  },
  replies: { about: "replies of models: which are answers", start: () => import("./replies.ts") },
  large: {
    about: "kills loads, appends, indexes and looks over contexts that lie in files",
    start: () => import("./large.ts"),
  },
  workflow: {
    about: "kills Belay, keepers and agents of workflows, over a folder or PostgreSQL",
    start: () => import("./workflow.ts"),
  },
  attack: { about: "cells, files and stores that want more than they may", start: () => import("./attack.ts") },
  corrupt: { about: "stores with bits flipped", start: () => import("./corrupt.ts") },
  fuzz: { about: "random input of each surface", start: () => import("./fuzz.ts") },
  memory: { about: "what guests and hosts hold in memory", start: () => import("./memory.ts") },
  soak: { about: "one process that works for long", start: () => import("./soak.ts") },
});
