import { argumentError } from "../runtime/index.ts";
import type { Builtin } from "./define.ts";
import { checkOf } from "./sub-call.ts";

const check = checkOf("rlm_query");

export const rlm_query: Builtin = {
  name: "rlm_query",
  signature: "function rlm_query(question: string, options?: ChildOptions): Promise<string>",
  summary:
    "Asks a model that explores a text too large for a prompt, with cells like this one; await it. Its P is `context`: a text, places of this P, or without it all of P. The same as llm_query with `context`. It counts 1 + max_sub_calls sub-calls at once, and returns those that it did not use.",
  brief:
    "Asks a model with cells of its own, whose P is `context`: a text, [start, end], documents, hits or a list of such places; default: all of P. The same as llm_query with `context`. Counts 1 + max_sub_calls (10)",
  example: 'await rlm_query("Who is it about?", { max_sub_calls: 0 }).catch((error) => error.code)',
  errors: {
    js_error: "an argument or an option is wrong, or context names no text of P; nothing was sent",
    context_not_loaded: "the call takes parts of P or of the history, and there is none",
    depth_exceeded: "the session's calls may not go deeper",
    no_model_configured: "no model is configured, or the one that was named is not known",
    budget_exceeded: "the budget does not allow the call (BudgetExceededError)",
    no_answer: "the model came to no answer within its turns",
    timeout: "the call took longer than timeout_ms (SubCallTimeoutError)",
    schema_mismatch: "the answer did not fit schema",
  },
  types: `/** \`of\` says that it is a place of the history, and not of P; those that history gives have it. */
type Place = [start: number, end: number, of?: "history"] | { start: number; end: number; of?: "history" };
/** Options of a call with a context of its own; tools, system and max_tokens are not among them. */
interface ChildOptions {
  /**
   * P of the model: at most 1 MB of text, or one or many places of this P, or of the history, such
   * as documents and hits.
   */
  context?: string | Place | Place[];
  /** Turns of the model, 1 to 100; default 10. */
  max_turns?: number;
  /** Sub-calls that the model may make, 0 to 1,000; default 10, or as many as are left. */
  max_sub_calls?: number;
  /** Resolves to { answer, cites } with places of what the context is of. */
  cites?: boolean;
  /** "provider/id"; default: the session's model. */
  model?: string;
  /**
   * The level of thinking of the model, and of those that its cells ask; default: the session's.
   */
  thinking?: "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** For the whole call; default 600,000. */
  timeout_ms?: number;
  /** A JSON Schema that the answer must fit. */
  schema?: object;
}`,
  calls: {
    rlm_query(services, args, scope, full) {
      if (args.length > 2) {
        const problem = "rlm_query takes 2 arguments (question, options)";
        throw argumentError("TypeError", problem, "Leave out what comes after.");
      }
      return check(services, args, scope, full);
    },
  },
};
