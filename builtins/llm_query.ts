import type { Builtin } from "./define.ts";
import { checkOf } from "./sub-call.ts";

export const llm_query: Builtin = {
  name: "llm_query",
  signature: "function llm_query(prompt: string, options?: SubCallOptions | ChildOptions | string[]): Promise<string>",
  summary:
    "Asks a model; await it. Without `tools: []` the model is a sub-agent that may read the session's files. With `schema`, a JSON Schema, it resolves to the checked value. With `context` it does what rlm_query does. Its errors have `code` and `retriable`. Each call counts against budget().",
  example: 'await llm_query("Summarise:\\n" + peek(0, 2000), { tools: [] }).catch((error) => error.code)',
  errors: {
    js_error: "an argument or an option is wrong; nothing was sent",
    no_model_configured: "no model is configured, or the one that was named is not known",
    budget_exceeded: "the budget does not allow the call (BudgetExceededError)",
    depth_exceeded: "the call has a context, and the session's calls may not go deeper",
    policy_violation: "a tool is not allowed (PolicyViolationError)",
    timeout: "the call took longer than timeout_ms (SubCallTimeoutError)",
    schema_mismatch: "the answer did not fit schema, also after one repair, and or_text is not set",
    sub_agent_error: "the sub-agent came to no answer within its turns",
    empty_answer: "the model answered with nothing",
    truncated_answer: "the answer was cut at max_tokens",
    window_full: "the window of the model has no room for the prompt and its answer",
    content_filtered: "the provider refused or filtered the answer",
    rate_limited: "the provider limits requests for longer than the call may take",
    provider_error: "the provider failed",
    auth_failed: "the provider refused the key",
    no_credit: "the account at the provider has no credit, or no plan",
    process_restarted: "the process ended meanwhile, and the call was not to be sent again",
    not_awaited: "the cell ended before the call was awaited",
  },
  types: `interface SubCallOptions {
  /** Tools of the sub-agent; [] for a plain answer. Default: those that only read files. */
  tools?: string[];
  /** "provider/id"; default: the session's model. */
  model?: string;
  system?: string;
  /** Output tokens, thinking included; default 4096 and the thinking of its level. */
  max_tokens?: number;
  /**
   * The level of thinking; default: the session's, which is "off" (as little as the model can)
   * unless it is set.
   */
  thinking?: "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /**
   * 0 to 2. What the model does not take, of this and the next three, it is asked without, with a
   * warning.
   */
  temperature?: number;
  /** 0 to 1. */
  top_p?: number;
  /** A whole number: where the provider can, the same one gives the same answer. */
  seed?: number;
  /** A text, or up to 4, at which the answer ends, without it. */
  stop?: string | string[];
  /** For the whole call; default 120,000, and 600,000 at a local server. */
  timeout_ms?: number;
  /** A JSON Schema that the answer must fit. */
  schema?: object;
  /** With schema: an answer that does not fit it, also after one repair, is given as text. */
  or_text?: boolean;
  /**
   * "batch": half the price, minutes to 24 hours later; the process may end meanwhile. Default: the
   * session's, "now".
   */
  delivery?: "now" | "batch";
}
interface AgentCallOptions extends SubCallOptions {
  /** The name of the call in lists and on pages, and the part of the work that it belongs to. */
  label?: string;
  phase?: string;
  /**
   * The agent of the user's configuration that answers in place of a model; the option model is then a name
   * that it knows. Only cells of workflows have agents.
   */
  agent?: string;
  /** With agent: it works in a worktree of its own. */
  isolation?: "worktree";
}
/**
 * The error of a sub-call; also BudgetExceededError, PolicyViolationError, SubCallTimeoutError,
 * ReentrancyError.
 */
interface SubAgentError extends Error {
  code: string;
  /** True if the same call may succeed if it is made again. */
  retriable: boolean;
}`,
  source: new URL("./llm_query.guest.js", import.meta.url),
  calls: {
    llm_query: checkOf("llm_query"),
  },
  aliases: ["SubAgentError", "BudgetExceededError", "PolicyViolationError", "SubCallTimeoutError", "ReentrancyError"],
};
