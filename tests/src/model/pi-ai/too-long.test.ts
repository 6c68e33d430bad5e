import { expect, test } from "vitest";
import { answerTo } from "../../../support/scripted-model.ts";

/** As these providers and servers say it. */
const REFUSALS: readonly (readonly [who: string, status: number, message: string, code?: string])[] = [
  ["Anthropic", 400, "prompt is too long: 213462 tokens > 200000 maximum"],
  [
    "Anthropic, with max_tokens",
    400,
    "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
  ],
  ["Anthropic, by bytes", 413, "Request exceeds the maximum size"],
  [
    "OpenAI",
    400,
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens.",
    "context_length_exceeded",
  ],
  ["OpenAI Responses", 400, "Your input exceeds the context window of this model. Please adjust your input."],
  ["OpenAI, one message", 400, "Invalid 'messages[1].content': string too long.", "string_above_max_length"],
  ["Google", 400, "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."],
  ["Bedrock", 400, "Input is too long for requested model."],
  [
    "OpenRouter",
    400,
    "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens",
  ],
  [
    "vLLM",
    400,
    "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion).",
  ],
  ["vLLM, newer", 400, "The decoder prompt (length 25938) is longer than the maximum model length of 4096."],
  ["vLLM, V0", 400, "The prompt (total length 25938) is too long to fit into the model (context length 4096)."],
  ["SGLang", 400, "The input (61709 tokens) is longer than the model's context length (40960 tokens)."],
  ["SGLang, newer", 400, "Requested token count exceeds the model's maximum context length of 202752 tokens."],
  ["llama.cpp", 400, "the request exceeds the available context size, try increasing it", "exceed_context_size_error"],
  ["LM Studio", 400, "The number of tokens to keep from the initial prompt is greater than the context length"],
  ["TGI", 422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"],
  ["Groq", 400, "Please reduce the length of the messages or completion.", "context_length_exceeded"],
  ["Groq, limit for a minute", 413, "Request too large for model: Limit 6000, please reduce your message size."],
  ["xAI", 400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens"],
];

test.each(REFUSALS)(
  "%s: a request that is too long is told from other refusals",
  async (_who, status, message, code) => {
    const answer = await answerTo({
      status: Number(status),
      body: JSON.stringify({ error: { message, code: code ?? null } }),
    });
    expect(answer).toMatchObject({
      ok: false,
      isTooLong: true,
      error: {
        code: "provider_error",
        retriable: false,
        suggestion: "Send less, or name a model with a larger window.",
      },
    });
  },
);

test.each([
  [400, "temperature must be at most 2"],
  [404, "the model `m` does not exist"],
  [429, "Rate limit reached: too many tokens in a minute"],
  [500, "the context window exceeds limit"],
  [400, "this model does not support tools"],
])("%i %s is not", async (status, message) => {
  const answer = await answerTo({ status, body: JSON.stringify({ error: { message } }) });
  expect(answer).toMatchObject({ ok: false });
  expect(answer).not.toHaveProperty("isTooLong");
});
