import { firstly } from "../../runtime/index.ts";
import type { FailureCode, ModelAnswer, ModelTurn, SubCallError } from "./port.ts";
import { NO_USAGE } from "./usage.ts";

/**
 * The cure for each failure of a sub-call and its requests, and whether the same call may succeed
 * later.
 */
const FAILURES: Readonly<Record<FailureCode, Pick<SubCallError, "retriable" | "suggestion">>> = {
  timeout: { retriable: true, suggestion: "Pass a larger timeout_ms, or ask for less in one call." },
  cancelled: { retriable: true, suggestion: "Make the call again." },
  rate_limited: { retriable: true, suggestion: "Wait, or lower the concurrency." },
  auth_failed: { retriable: false, suggestion: "Check the provider's API key and what it may use." },
  no_credit: { retriable: false, suggestion: "Check the plan and the credit at the provider." },
  auth_expired: { retriable: false, suggestion: `${firstly("login")}.` },
  no_model_configured: { retriable: false, suggestion: `${firstly("nameModel")}.` },
  content_filtered: { retriable: false, suggestion: "Rephrase the prompt, or name another model." },
  empty_answer: { retriable: true, suggestion: "Ask again, or raise max_tokens if the model thinks first." },
  provider_error: { retriable: true, suggestion: "Call again later; if it stays, check the provider's status." },
  sub_agent_error: { retriable: false, suggestion: "Ask for less in one call, or put the text into the prompt." },
  truncated_answer: { retriable: false, suggestion: "Raise max_tokens, or ask for a shorter answer." },
  window_full: {
    retriable: false,
    suggestion:
      "Send less in one call, or use a larger window: another model, or on your own server llama-server -c (its -np slots share it), Ollama num_ctx, vLLM --max-model-len.",
  },
  schema_mismatch: { retriable: true, suggestion: "Ask for a simpler value, or describe it in the prompt." },
  policy_violation: { retriable: false, suggestion: "Leave out `tools`." },
  reentrancy_error: {
    retriable: false,
    suggestion: "Make the calls one after the other in the cell, and pass results on in the prompt.",
  },
  budget_exceeded: { retriable: false, suggestion: "Finish now with what there is." },
  no_answer: {
    retriable: true,
    suggestion: "Ask a narrower question, pass a larger max_turns, or name another model.",
  },
  answer_lost: { retriable: false, suggestion: "Ask again, which is paid for once more." },
  invalid_argument: { retriable: false, suggestion: "Correct the argument." },
};

export function isFailureCode(code: string): code is FailureCode {
  return Object.hasOwn(FAILURES, code);
}

export type Cure = Partial<Pick<SubCallError, "retriable" | "suggestion" | "limit" | "retry_at">>;

/** A failure by its code, with the cure that belongs to it unless a better one is known. */
export function failure(code: FailureCode, message: string, cure: Cure = {}): SubCallError {
  return { code, message, ...FAILURES[code], ...cure };
}

/** An answer that failed before anything was sent: it costs nothing, and that is certain. */
export function unsent(error: SubCallError): Extract<ModelAnswer, { ok: false }> {
  return { ok: false, usage: NO_USAGE, charged: true, error };
}

/**
 * True if a provider has refused a request because of its tools, or because of calls of them that
 * it tells of.
 */
export function refusesTools({ code, message, retriable }: SubCallError): boolean {
  return code === "provider_error" && (retriable ? UNKNOWN_PARAMETER : TOOLS_NAMED).test(message);
}

/**
 * llama.cpp without --jinja refuses tools with 500. Of a request only the roles of results do not
 * alternate.
 */
const UNKNOWN_PARAMETER = /\btools param requires\b|\bunsupported param: tools\b|\broles must alternate\b/i;
const TOOLS_NAMED = /\b(?:tools?|functions?)\b|\broles must alternate\b/i;

/**
 * The failure of a model, `provider/id`, that answered with no text.
 *
 * @param isThought it only thought
 */
export function nothingSaid(id: string, isThought: boolean): SubCallError {
  return failure("empty_answer", `${id}: the answer is empty${isThought ? ": the model only thought" : ""}`);
}

/**
 * The failure of an answer that was cut: at the window of the model if that was full, else at the
 * limit of its caller.
 */
export function cutAnswer(turn: ModelTurn, limit: string): SubCallError {
  const { full, isThought } = turn;
  const part = partOf(turn);
  if (!full) {
    const cure = isThought ? { suggestion: THINK_LESS } : {};
    return failure("truncated_answer", `the answer was cut at ${limit}, ${part}`, cure);
  }
  const { window, input, output } = full;
  const shares = `${input} are the prompt and ${output} the answer, which was cut ${part}`;
  const isFull = input + output >= window - window / 32;
  return failure("window_full", `the window of ${window} tokens ${isFull ? "is full" : NO_ROOM}: ${shares}`);
}

/** The tokens of a prompt are estimated where the server does not count them first. */
const NO_ROOM = "has no more room, as it was estimated";

/** The part of an answer that came, in words that follow its end. */
function partOf({ text, toolUses, isThought }: ModelTurn): string {
  if (text.trim() !== "") return `after ${text.length} characters`;
  if (toolUses.length > 0) return "in the call of a tool";
  return isThought ? "while the model only thought" : "before it began (thinking counts)";
}

const THINK_LESS =
  "Raise max_tokens, or have the model think less: a lower level of thinking, or on your own server llama-server --reasoning-budget 0.";
