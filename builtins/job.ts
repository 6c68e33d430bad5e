import type { Builtin } from "./define.ts";
import { factsOf } from "./facts.ts";

export const job: Builtin = {
  name: "job",
  signature: "const job: unknown",
  summary:
    "The input of the job that the cell runs for, frozen: one of the values that its run was given. It is null outside a run, and in cells that answer a call with a context of its own.",
  example: "job === null",
  source: new URL("./job.guest.js", import.meta.url),
  host: { "job.text": (_services, _args, scope) => factsOf(scope).job },
};
