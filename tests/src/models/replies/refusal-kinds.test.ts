import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../../../scripts/process.ts";
import { explain } from "../../../../src/models/pi-ai/refusal.ts";
import { REFUSALS, type RefusalKind } from "../../../../src/models/replies/refusal-kinds.ts";

// Refusals as providers and servers were reported to word them, and what each is. The table says what it ends.

type Worded = readonly [
  status: number | null,
  body: string | object,
  more?: { retryAfterMs?: number | null; tokens?: number },
];

const openAi = (message: string, code?: string) => ({ message, type: code ?? "invalid_request_error", code });

/** Requests that have more tokens than the model's window, as these providers and servers say it. */
const TOO_LONG: readonly (readonly [who: string, status: number, message: string, code?: string])[] = [
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

const WORDED: Readonly<Partial<Record<RefusalKind, readonly Worded[]>>> = {
  credit: [
    [429, openAi("You exceeded your current quota, please check your plan and billing details.", "insufficient_quota")],
    [429, openAi("You exceeded your current quota, please check your plan and billing details.")],
    [
      429,
      openAi("Your account is not active, please check your billing details on our website.", "billing_not_active"),
    ],
    [400, openAi("Billing hard limit has been reached", "billing_hard_limit_reached")],
    [400, { type: "error", error: { message: "Your credit balance is too low to access the Anthropic API." } }],
    [400, { error: { message: "You have reached your specified API usage limits. You will regain access later." } }],
    [402, { message: "Insufficient Balance" }],
    [402, { message: "This request requires more credits, or fewer max_tokens. You can only afford 120." }],
    [402, "402 status code (no body)"],
    [402, { message: "Payment Required" }, { retryAfterMs: 1000 }],
    [403, { message: "Your newly created team doesn't have any credits yet. Purchase some on https://x.example/" }],
    [403, { code: 30001, message: "Sorry, your account balance is insufficient" }],
    [403, { message: "Key limit exceeded (total limit)" }],
    [429, { message: "Your team has either used all available credits or reached its monthly spending limit." }],
    [429, { message: "Your prepayment credits are depleted. Go to AI Studio.", status: "RESOURCE_EXHAUSTED" }],
    [
      429,
      {
        error: {
          message: "Quota exceeded for metric: generate_content_free_tier_requests, limit: 0\nPlease retry in 38.5s.",
          status: "RESOURCE_EXHAUSTED",
          details: [{ retryDelay: "38s" }],
        },
      },
    ],
    [
      429,
      {
        code: 429,
        message: "You exceeded your current quota, please check your plan and billing details.",
        status: "RESOURCE_EXHAUSTED",
      },
    ],
    [429, { message: "metric: input_token_count, limit: 0, model: gemini. Please retry in 38.5s." }],
    [429, openAi("Rate limit reached on TPM: Limit 0, Used 0, Requested 5000.")],
    [401, { message: "You exceeded your quota, check your billing", type: "insufficient_quota" }],
    [429, { code: "1113", message: "余额不足或无可用资源包,请充值。" }],
    [412, { message: "Account x is suspended, possibly due to reaching the monthly spending limit" }],
    [403, { message: "This API method requires billing to be enabled.", status: "PERMISSION_DENIED" }],
    [null, { error: { type: "insufficient_quota", message: "You exceeded your current quota" } }],
    [412, { error: { message: "Account suspended due to unpaid invoices" } }],
    [400, { error: { message: "Access denied, your account is not in good standing.", code: "Arrearage" } }],
    [429, { error: { message: "ExceededBudget: User=x over budget", type: "budget_exceeded", code: "429" } }],
  ],
  key: [
    [401, { message: "Incorrect API key provided" }],
    [401, "401 access refused"],
    [400, { error: { type: "invalid_request_error", message: "This organization has been disabled." } }],
    [403, { message: "Country, region, or territory not supported", code: "unsupported_country_region_territory" }],
    [400, { error: { message: "User location is not supported for the API use.", status: "FAILED_PRECONDITION" } }],
    [400, { error: { message: "API key not valid. Please pass a valid API key.", status: "INVALID_ARGUMENT" } }],
    [403, "UnrecognizedClientException: The security token included in the request is invalid."],
    [403, { message: "You don't have access to the model with the specified model ID." }],
  ],
  model: [
    [404, openAi("The model `gpt-9` does not exist or you do not have access to it.", "model_not_found")],
    [404, { error: "model 'qwen9' not found, try pulling it first" }],
    [404, { message: "the model `m` does not exist" }],
    [400, openAi("The model `llama-2` has been decommissioned and is no longer supported.", "model_decommissioned")],
    [400, { message: "gpt-9 is not a valid model ID", code: 400 }],
    [400, { message: "Model Not Exist" }],
    [400, { message: "Invalid model: x", type: "invalid_model", code: "1500" }],
    [400, "ValidationException: The provided model identifier is invalid."],
    [404, { code: "DeploymentNotFound", message: "The API deployment for this resource does not exist." }],
    [410, "gone"],
    [400, { error: "No models loaded. Please load a model in the developer page." }],
    [405, "405 <html>Not Allowed"],
  ],
  rate: [
    [429, openAi("Rate limit reached for requests per day (RPD): Limit 100, Used 100, Requested 1.")],
    [429, { message: "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 requests", code: 429 }],
    [null, { error: { message: "Rate limit exceeded: free-models-per-day", code: 429 } }],
    [
      429,
      openAi(
        "Rate limit reached for model x on tokens per day (TPD): Limit 100000, Used 99336, Requested 1500. Please try again in 12m1s. Need more tokens? Upgrade at https://console.groq.example/settings/billing",
      ),
    ],
    [
      429,
      openAi("You exceeded your current quota, please check your plan and billing details. Please retry in 38.5s."),
    ],
    [429, openAi("You exceeded your current quota.", "insufficient_quota"), { retryAfterMs: 3_600_000 }],
    [
      429,
      {
        message: "You exceeded your current quota, please check your plan and billing details.",
        status: "RESOURCE_EXHAUSTED",
        details: [{ violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }] }],
      },
    ],
    [429, { message: "Quota exceeded for quota metric requests_per_minute_per_project, check your billing" }],
    [429, { message: "Resource has been exhausted (e.g. check quota).", status: "RESOURCE_EXHAUSTED" }],
    [429, { message: "Rate limit reached. Add a payment method to your account in the billing settings." }],
    [429, { message: "exceeded token rate limit of your current pricing tier. Please retry after 26 seconds." }],
    [429, { message: "This request would exceed your rate limit of 30,000 input tokens per minute" }, { tokens: 9000 }],
    [429, { message: "Quota exceeded for metric: free_tier_requests, limit: 50" }, { tokens: 9000 }],
    [429, { message: "Rate limit reached for gpt-4 with 1500 tokens requested" }],
    [429, { message: "Rate limit reached: too many tokens in a minute" }],
    [429, { message: "Provider returned error", metadata: { raw: "m is temporarily rate-limited upstream" } }],
    [null, "Throttling error: ThrottlingException: Too many tokens, please wait before trying again."],
  ],
  overload: [
    [529, { error: { type: "overloaded_error", message: "Overloaded" } }],
    [null, { error: { type: "overloaded_error", message: "Overloaded" } }],
    [503, { error: { code: 503, message: "Loading model", type: "unavailable_error" } }],
    [503, { message: "The model is overloaded. Please try again later.", status: "UNAVAILABLE" }],
    [503, "503 Service Unavailable"],
    [500, { message: "the engine is overloaded" }],
    [498, { message: "Flex tier capacity exceeded" }],
  ],
  too_large: [
    [413, { message: "Payload too large" }],
    [413, "413 status code (no body)"],
    [413, { message: "Request too large for model x on TPM: Limit 6000, Requested 8000. Upgrade in billing" }],
    [
      429,
      openAi("Request too large for m on tokens per min (TPM): Limit 30000, Requested 50000.", "rate_limit_exceeded"),
    ],
    [
      429,
      openAi("Rate limit reached on TPM: Limit 30,000, Used 0, Requested 50,000. Try again in 20s."),
      { retryAfterMs: 1 },
    ],
    [429, { message: "would exceed your rate limit of 30,000 input tokens per minute" }, { tokens: 50_000 }],
    [429, { message: "metric: free_tier_input_token_count, limit: 250000. Please retry in 30s." }, { tokens: 300_000 }],
    ...TOO_LONG.map(([, status, message, code]): Worded => [status, openAi(message, code)]),
  ],
  filtered: [
    [400, { code: "content_filter", message: "The response was filtered by the content management policy." }],
    [400, openAi("Your prompt was flagged as potentially violating our usage policy.", "invalid_prompt")],
    [403, { message: 'Your input was flagged for "violence".', metadata: { reasons: ["violence"] } }],
    [400, { message: "Content Exists Risk" }],
    [400, { code: "data_inspection_failed", message: "Input data may contain inappropriate content." }],
  ],
  malformed: [
    [500, { code: 500, message: "The model produced output that does not match the expected peg-native format" }],
    [
      null,
      { error: { code: 500, message: "The model produced output that does not match the expected Hermes format" } },
    ],
    [500, { code: 500, message: "Failed to parse input at pos 395: <tool_call>insufficient balance" }],
    [500, { error: "error parsing tool call: raw='{\"a\": 402 insufficient_quota', err=invalid character" }],
    [500, '500 "error parsing tool call: raw=\'{\\"x\', err=unexpected end of JSON input"'],
    [
      400,
      {
        ...openAi("Failed to call a function. Please adjust your prompt.", "tool_use_failed"),
        failed_generation: "<x>",
      },
    ],
    [400, openAi("tool call validation failed: parameters for tool f did not match schema", "tool_use_failed")],
    [400, { ...openAi("Failed to validate JSON.", "json_validate_failed"), failed_generation: "{credit balance" }],
    [400, openAi("Parsing failed. The model generated output that could not be parsed.", "output_parse_failed")],
    [500, { message: "The model produced invalid content.", type: "model_error" }],
    [500, { message: "Unexpected token 12606 while expecting start token 200006" }],
    [424, "ModelErrorException: Model produced invalid sequence as part of ToolUse."],
  ],
  refused: [
    [400, { message: "temperature must be at most 2" }],
    [422, { detail: [{ loc: ["body"], msg: "bad", input: "insufficient balance, rate limit, model_not_found" }] }],
    [400, { message: "this model does not support tools" }],
    [400, { message: "failed to parse grammar" }],
    [400, { message: "stop upper bound" }],
  ],
  unreached: [
    [502, "502 <html><title>502 Bad Gateway</title></html>"],
    [503, "503 upstream connect error: connection refused"],
    [504, "504 Gateway Timeout"],
  ],
  failed: [
    [500, { message: "the context window exceeds limit" }],
    [500, { message: "The server had an error while processing your request." }],
    [408, { message: "Request Timeout" }],
    [null, "Unexpected end of JSON input"],
  ],
};

const rowOf = (kind = "") =>
  REFUSALS[Object.keys(REFUSALS).find((known): known is RefusalKind => known === kind) ?? "failed"];

const PLACE = { id: "p/m", api: "openai-completions", address: "http://x/v1", isNamed: true, near: [] };

/** The failure as pi-ai words it: the status, and the body as JSON behind it. */
function explained([status, body, { retryAfterMs = null, tokens = 100 } = {}]: Worded) {
  const said = typeof body === "string" ? body : `${status === null ? "" : `${status}: `}${JSON.stringify(body)}`;
  const seen = { status: status ?? 200, retryAfterMs, networkError: null };
  return explain({ place: PLACE, said, seen, secrets: [], tokens });
}

test.each(Object.entries(WORDED))("what is of the kind %s ends what the table says", (kind, all) => {
  const { code, ends } = rowOf(kind);
  for (const one of all) {
    const found = explained(one);
    const told = {
      code: found.error.code,
      ends: found.ends ?? "row",
      unread: "unread" in found,
      large: "isTooLong" in found,
    };
    const shown = JSON.stringify(one);
    expect({ shown, ...told }).toEqual({
      shown,
      code,
      ends,
      unread: kind === "malformed",
      large: kind === "too_large",
    });
  }
});

test("a wait is read from a provider's words in any unit, and one for what no wait cures is not told", () => {
  const waits = [
    ["Please try again in 1m2.5s.", 62_500],
    ["Please retry after 26 seconds.", 26_000],
    ["Please retry in 6h12m.", 22_320_000],
    ["Try again in 20ms", 20],
    ["Wait 2 minutes and 5 seconds", 125_000],
    ["try 3 more models", undefined],
  ] as const;
  for (const [message, ms] of waits) expect(explained([429, { message }]).retryAfterMs).toBe(ms);
  expect(explained([429, { message: "slow down", details: [{ retryDelay: "38s" }] }]).retryAfterMs).toBe(38_000);
  expect(explained([402, { message: "x" }, { retryAfterMs: 1000 }])).not.toHaveProperty("retryAfterMs");
});

test("the words of the provider behind a router are shown", () => {
  const said = explained([
    429,
    { message: "Provider returned error", metadata: { raw: "m is rate-limited upstream" } },
  ]);
  expect(said.error.message).toBe("p/m: 429 Provider returned error: m is rate-limited upstream");
});

const TOLD = { run: "pauses the run", job: "parks the job", row: "fails the row" };

test("the table in docs/batch.md is the one that decides, and its examples are of the kinds that they stand for", () => {
  const rows = [
    ...readFileSync(join(ROOT, "docs/batch.md"), "utf8").matchAll(/^\| (\w+) \| (.*) \| `(\w+)` \| (.*) \|$/gm),
  ];
  const told = rows.map(([, kind, , code, ends]) => [kind, code, ends?.split(/ at once|,/)[0]]);
  expect(told).toEqual(Object.entries(REFUSALS).map(([kind, { code, ends }]) => [kind, code, TOLD[ends]]));
  const examples = rows.flatMap(([, kind, all = "", code]) =>
    [...all.matchAll(/`(\d+) ?(.*?)`/g)].map((found) => [kind, code, ...found]),
  );
  const sorted = examples.map(([kind, , , status, message]) => {
    const { error, ends = "row" } = explained([Number(status), { message }]);
    return [kind, error.code, ends];
  });
  expect(sorted).toEqual(examples.map(([kind, code]) => [kind, code, rowOf(kind).ends]));
  expect(examples.length).toBeGreaterThan(20);
});

test("a page in place of an answer is of a wrong address, which other calls meet too", () => {
  const seen = { status: 200, retryAfterMs: null, networkError: null, odd: "the server answered with a page" };
  const found = explain({ place: PLACE, said: "x", seen, secrets: [], tokens: 1 });
  expect(found).toMatchObject({ ends: "run", error: { code: "provider_error", retriable: false } });
});
