import * as v from "valibot";
import { argumentError, type CallScope, type Json, LIMITS } from "../runtime/index.ts";
import { argumentCheck, type Builtin, optional } from "./define.ts";
import { factsOf } from "./facts.ts";
import type { Services } from "./services.ts";
import { budgetExceeded, callsLeft, callsOf, checkRequest, readSubCall } from "./sub-call.ts";

const checkArguments = argumentCheck("llm_query_batch", {
  prompts: v.array(v.unknown(), "must be an array of prompts"),
  options: optional(v.union([v.looseObject({}), v.number()], "must be an object, or a number: max_concurrent")),
});

export const llm_query_batch: Builtin = {
  name: "llm_query_batch",
  signature:
    "function llm_query_batch(prompts: (string | ({ prompt: string } & (SubCallOptions | ChildOptions)))[], options?: BatchOptions | number): Promise<BatchAnswer>",
  summary:
    "Many sub-calls at once; await it. `results` keep the order of the prompts; one that failed is `{ error: { code, message, retriable } }`. A batch that is larger than the budget is refused whole, unless `partial: true`. A number is `max_concurrent`.",
  example: 'await llm_query_batch(["a", "b"], { tools: [], max_concurrent: 2 }).catch((error) => error.code)',
  errors: {
    js_error: "a prompt or an option is wrong, or there are more than 1,000 prompts; nothing was sent",
    no_model_configured: "no model is configured",
    depth_exceeded: "a prompt has a context, and the session's calls may not go deeper",
    budget_exceeded: "the budget does not allow the whole batch, and partial is not set",
  },
  types: `interface BatchOptions extends SubCallOptions {
  /** Sub-calls of this batch in flight at once; default 5. */
  max_concurrent?: number;
  /** Send what the budget allows instead of refusing the batch. */
  partial?: boolean;
}
interface BatchAnswer {
  results: (any | { error: { code: string; message: string; retriable: boolean } })[];
  execution_mode: "parallel";
}`,
  source: new URL("./llm_query_batch.guest.js", import.meta.url),
  host: {
    /** The number of prompts that may be sent. */
    "llm_query_batch.plan": (services, args, scope) => plan(services, args, scope),
  },
};

function plan(services: Services, args: readonly Json[], scope: CallScope): number {
  const { prompts, options = {} } = checkArguments(args);
  if (prompts.length > LIMITS.batchPrompts) {
    throw argumentError("RangeError", `llm_query_batch: ${prompts.length} prompts (limit 1,000)`, "Split the batch.");
  }
  const named = typeof options === "number" ? { max_concurrent: options } : options;
  const { partial, max_concurrent, ...shared } = Object.assign(Object.create(null), named);
  if (max_concurrent !== undefined && !(Number.isInteger(max_concurrent) && max_concurrent > 0)) {
    throw argumentError("TypeError", "llm_query_batch: max_concurrent must be an integer above 0", "Pass 1 to 100.");
  }
  const left = callsLeft(scope);
  const { remaining_tokens } = factsOf(scope);
  let tokens = remaining_tokens;
  let calls = 0;
  let allowed = 0;
  for (const [index, item] of prompts.entries()) {
    const own: { [key: string]: Json } = typeof item === "string" ? { prompt: item } : Object.assign({}, item);
    const { prompt, ...rest } = own;
    const name = `llm_query_batch: prompts[${index}]`;
    const request = readSubCall(name, [prompt ?? null, { ...shared, ...rest }]);
    checkRequest(name, request, services, scope);
    calls += callsOf(request, left - calls);
    tokens -= Math.ceil((request.prompt.length + (request.system ?? "").length) / 4);
    if (calls <= left && tokens >= 0) allowed++;
    else if (partial === true) scope.warn(`limit_met: ${tokens < 0 ? "tokens" : "sub_calls"}`);
    else if (tokens < 0) {
      const why = `the prompts alone are about ${remaining_tokens - tokens} tokens, ${remaining_tokens} are left`;
      throw budgetExceeded(scope, "tokens", why);
    } else {
      const least = calls + prompts.length - index - 1;
      const why = `${prompts.length} prompts take at least ${least} sub-calls, ${left} are left`;
      throw budgetExceeded(scope, "sub_calls", why);
    }
  }
  return allowed;
}
