import * as v from "valibot";
import type { CallScope } from "../runtime/index.ts";

const count = v.fallback(v.number(), 0);

/** Facts of the host about sub-calls and the budget, which the machine gets when a slice begins. */
const Facts = v.object({
  remaining_tokens: count,
  remaining_sub_calls: count,
  remaining_time_ms: count,
  /** Spent since the last load, by the answers that are recorded. */
  spent_tokens: count,
  spent_cost_usd: count,
  /** Absent if the program lends no functions. */
  remaining_functions: v.fallback(v.optional(v.number()), undefined),
  /** Absent if dollars are not limited. */
  remaining_cost_usd: v.fallback(v.optional(v.number()), undefined),
  /** Levels of calls with a context of their own that are left. */
  depth_left: count,
  /** Why no sub-call can be made at all, or null. */
  no_model: v.fallback(v.nullable(v.string()), null),
  /** A root model reads what the cell prints, and its result. */
  for_model: v.fallback(v.boolean(), false),
  /**
   * Input of the exec's job, and its fields whose numbers are texts. null if the exec does not
   * belong to a job.
   */
  job: v.fallback(v.nullable(v.object({ json: v.string(), asText: v.array(v.string()) })), null),
});

const NO_FACTS = v.parse(Facts, {});

/** The facts of the running exec. A host that tells none leaves no budget. */
export function factsOf({ facts }: Pick<CallScope, "facts">): v.InferOutput<typeof Facts> {
  const read = v.safeParse(Facts, facts);
  return read.success ? read.output : NO_FACTS;
}
