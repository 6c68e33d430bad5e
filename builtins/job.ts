import type { CallScope } from "../runtime/index.ts";
import type { Builtin } from "./define.ts";
import { factsOf } from "./facts.ts";

export const job: Builtin = {
  name: "job",
  signature: "const job: unknown",
  summary:
    "The input of the job that the cell runs for, frozen: one of the values that its run was given. A number that JavaScript would round is a text of its digits (number_as_text). It is null outside a run, and in cells that answer a call with a context of its own.",
  example: "job === null",
  source: new URL("./job.guest.js", import.meta.url),
  host: { "job.text": (_services, _args, scope) => given(scope) },
};

/** The input as JSON. The exec that reads it is warned of its numbers that are texts. */
function given(scope: CallScope): string | null {
  const { job: input } = factsOf(scope);
  for (const field of input?.asText ?? []) scope.warn(`number_as_text: ${field || "job"}`);
  return input?.json ?? null;
}
