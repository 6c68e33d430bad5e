import { isContextOverflow } from "belay-pi-ai/utils/overflow";

/**
 * True if a provider's message says that the request has more tokens than its model takes. pi-ai knows the words of most
 * providers; what it misses is below.
 *
 * @param status of the response if it was one of failure
 */
export function isTooLong(said: string, status: number | null): boolean {
  return status === 413 || OTHERS.test(said) || isContextOverflow(failedWith(said));
}

/**
 * Messages as users of these servers have reported them: Anthropic ("input length and `max_tokens` exceed context limit"),
 * SGLang ("longer than the model's context length", "exceeds the model's maximum context length of"), vLLM ("longer than
 * the maximum model length", "too long to fit into the model"), TGI, Groq's limit for a minute, OpenAI's for one message.
 */
const OTHERS = new RegExp(
  [
    "exceeds? (?:the )?(?:model's )?(?:maximum )?context (?:limit|length|window|size)",
    "longer than the (?:model's context|maximum model) length",
    "too long to fit into the model",
    "tokens \\+ `?max_new_tokens`? must be",
    "reduce your message size",
    "string_above_max_length|string too long",
  ].join("|"),
  "i",
);

/** A message of pi-ai that failed so. */
function failedWith(errorMessage: string): Parameters<typeof isContextOverflow>[0] {
  return {
    role: "assistant",
    content: [],
    api: "",
    provider: "",
    model: "",
    usage: { ...NOTHING, cost: { ...NOTHING, total: 0 }, totalTokens: 0 },
    stopReason: "error",
    errorMessage,
    timestamp: 0,
  };
}

const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
