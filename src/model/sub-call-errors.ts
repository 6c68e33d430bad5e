import type { SubCallCode, SubCallError } from "./port.ts";

/** The cure for what goes wrong around the requests of a sub-call, and whether the same call may succeed later. */
const CURES = {
  timeout: { retriable: true, suggestion: "Pass a larger timeout_ms, or ask for less in one call." },
  cancelled: { retriable: true, suggestion: "Make the call again." },
  sub_agent_error: { retriable: false, suggestion: "Ask for less in one call, or put the text into the prompt." },
  empty_answer: { retriable: true, suggestion: "Ask again, or raise max_tokens if the model thinks first." },
  truncated_answer: { retriable: false, suggestion: "Raise max_tokens, or ask for a shorter answer." },
  schema_mismatch: { retriable: true, suggestion: "Ask for a simpler value, or describe it in the prompt." },
  policy_violation: { retriable: false, suggestion: "Leave out `tools`." },
} satisfies Partial<Record<SubCallCode, Pick<SubCallError, "retriable" | "suggestion">>>;

/** A failure by its code, with the cure that belongs to it unless another is given. */
export function subCallError(code: keyof typeof CURES, message: string, suggestion?: string): SubCallError {
  return { code, message, ...CURES[code], ...(suggestion === undefined ? {} : { suggestion }) };
}
