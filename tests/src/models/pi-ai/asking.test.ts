import type { Api, Model as PiModel } from "belay-pi-ai";
import { expect, test } from "vitest";
import type { AskedModel } from "../../../../src/models/pi-ai/answer-form.ts";
import { openAsking } from "../../../../src/models/pi-ai/asking.ts";
import type { ModelRequest } from "../../../../src/models/port.ts";
import { ask, faux, serve } from "../../../support/scripted-model.ts";

const SCHEMA = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
const OTHER = { type: "object", properties: { m: { type: "integer" } }, required: ["m"] };
const TOOL = { name: "look", description: "Looks.", parameters: { type: "object" } };

/** The model of another address for each call, so that nothing is known of its refusals. */
function asked(api: string, more: { baseUrl?: string; id?: string; leavesOut?: string[] } = {}): AskedModel {
  const { baseUrl = `http://${crypto.randomUUID()}.example/v1`, id = "m", leavesOut = [] } = more;
  const model: PiModel<Api> = { ...faux().provider.getModel(), api, baseUrl, id };
  return { model, isNamed: false, leavesOut };
}

const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  ...{ system: null, messages: [], tools: [], maxTokens: 100, timeoutMs: 9000, cache: "none", schema: SCHEMA },
  ...more,
});

test.each<[api: string, body: object, shaped: object]>([
  [
    "openai-completions",
    { model: "m" },
    {
      response_format: {
        type: "json_schema",
        json_schema: { name: "answer", strict: true, schema: expect.anything() },
      },
    },
  ],
  [
    "openai-responses",
    { text: { verbosity: "low" } },
    { text: { verbosity: "low", format: { type: "json_schema", name: "answer", strict: true } } },
  ],
  [
    "anthropic-messages",
    { output_config: { effort: "low" } },
    { output_config: { effort: "low", format: { type: "json_schema", schema: { additionalProperties: false } } } },
  ],
  [
    "google-generative-ai",
    { config: { maxOutputTokens: 1 } },
    { config: { maxOutputTokens: 1, responseMimeType: "application/json", responseJsonSchema: SCHEMA } },
  ],
])("a request asks %s for the form of its schema, beside what it asks else", (api, body, shaped) => {
  const asking = openAsking(asked(api), request());
  expect(asking.sent()).toEqual({});
  expect(asking.shape(body)).toMatchObject({ ...body, ...shaped });
  expect(asking.sent()).toEqual({ isConstrained: true });
  for (const plain of [
    openAsking(asked(api), { ...request(), schema: { type: "array" } }),
    openAsking(asked(api, { leavesOut: ["schema"] }), request()),
  ]) {
    expect(plain.shape(body)).toEqual(body);
    expect(plain.sent()).toEqual({});
  }
});

test.each<[string, string, { baseUrl?: string; id?: string }, first: boolean]>([
  ["Responses", "openai-responses", {}, true],
  ["OpenAI's chat completions", "openai-completions", { baseUrl: "https://api.openai.com/v1" }, true],
  ["Azure's", "openai-completions", { baseUrl: "https://a.openai.azure.com/openai/v1" }, true],
  ["another server", "openai-completions", { baseUrl: "http://openai.com.example/v1" }, false],
  ["Anthropic", "anthropic-messages", {}, true],
  ["Gemini 3", "google-generative-ai", { id: "gemini-3-flash-preview" }, true],
  ["Gemini 2.5", "google-generative-ai", { id: "gemini-2.5-flash" }, false],
])("tools and form together: %s", (_, api, more, first) => {
  const model = asked(api, more);
  const tools = [TOOL];
  const asking = openAsking(model, request({ tools }));
  asking.shape({});
  expect(asking.tools).toBe(tools);
  expect(asking.sent()).toEqual({ isConstrained: first });
  const repair = openAsking(model, request({ tools, mayDropTools: true }));
  repair.shape({});
  expect(repair.tools).toEqual(first ? tools : []);
  expect(repair.sent()).toEqual({ isConstrained: true });
  const listed = request({ tools, mayDropTools: true, schema: { type: "array" } });
  expect(openAsking(model, listed).tools).toBe(tools);
});

test.each<[status: number, words: string]>([
  [400, "This response_format type is unavailable now"],
  [400, "Unrecognized request argument supplied: response_format"],
  [400, "'response_format.type' must be 'json_schema' or 'text'"],
  [400, "output_config: Extra inputs are not permitted"],
  [400, "This model does not support output format."],
  [400, "Unsupported parameter: 'text.format' is not supported with this model."],
  [400, "Unknown name \"additionalProperties\" at 'generation_config.response_json_schema': Cannot find field."],
  [400, "Function calling with a response mime type: 'application/json' is unsupported"],
  [400, "json mode cannot be combined with tool/function calling"],
  [400, "Failed to initialize samplers: failed to parse grammar"],
  [400, "The provided JSON schema contains features not supported by xgrammar."],
  [400, "guided_json is not supported"],
  [400, "Schema is too complex."],
  [404, "No endpoints found that support structured outputs"],
  [422, '{"detail":[{"loc":["body","response_format"],"msg":"extra fields not permitted"}]}'],
  [500, "invalid JSON schema in format"],
  [400, "Request contains an invalid argument."],
  [501, "structured output is not implemented"],
])("a refusal of the form is known by its words, and remembered: %i %s", (status, words) => {
  const model = asked("openai-completions");
  const refused = openAsking(model, request());
  const alike = openAsking(model, request());
  for (const asking of [refused, alike]) asking.shape({});
  expect(refused.adapt(`${status} ${words}`, status)).toBe(true);
  // Another that was on its way then.
  expect(alike.adapt(`${status} ${words}`, status)).toBe(true);
  const next = openAsking(model, request());
  expect(next.shape({})).toEqual({});
  expect(next.adapt(`${status} ${words}`, status)).toBe(false);
});

test.each<[status: number | null, words: string]>([
  [429, "Rate limit reached for response_format json_schema"],
  [401, "response_format"],
  [null, "terminated"],
  [400, "messages: at least one message is required"],
  [400, "Invalid schema for function 'read_file'"],
  [400, "max_tokens is too large: 50000. This model supports at most 16384 completion tokens"],
  [500, "The model produced output that does not match the expected peg-native format"],
  [500, "Internal server error"],
])("other failures are no refusals of a part: %s %s", (status, words) => {
  const asking = openAsking(asked("openai-completions"), request());
  asking.shape({ max_tokens: 5, stream_options: {} });
  expect(asking.adapt(words, status)).toBe(false);
});

test("a refusal of one schema leaves the others; that of a second one is of all; beside tools it is of that alone", () => {
  const isAsked = (model: AskedModel, more: Partial<ModelRequest>) => {
    const asking = openAsking(model, request(more));
    asking.shape({});
    return { asking, isAsked: asking.sent().isConstrained === true };
  };
  const one = asked("openai-responses");
  expect(isAsked(one, {}).asking.adapt("400 Invalid schema for response_format 'answer': …", 400)).toBe(true);
  expect(isAsked(one, {}).isAsked).toBe(false);
  const other = isAsked(one, { schema: OTHER });
  expect(other.isAsked).toBe(true);
  expect(other.asking.adapt("400 the grammar is too complex", 400)).toBe(true);
  const third = { ...SCHEMA, description: "another" };
  expect(isAsked(one, { schema: third }).isAsked).toBe(false);

  // Some servers take objects alone.
  const named = { ...asked("openai-completions"), isNamed: true };
  for (const schema of [{ enum: ["a"] }, { enum: ["b"] }])
    isAsked(named, { schema }).asking.adapt("400 Invalid schema: must have type 'object'", 400);
  expect(isAsked(named, { schema: { type: "boolean" } }).isAsked).toBe(false);
  expect(isAsked(named, {}).isAsked).toBe(true);

  const two = asked("openai-responses");
  const tools = [TOOL];
  expect(isAsked(two, { tools }).asking.adapt("400 text.format with tools", 400)).toBe(true);
  expect(isAsked(two, { tools }).isAsked).toBe(false);
  expect(isAsked(two, { tools, mayDropTools: true }).asking.tools).toBe(tools);
  expect(isAsked(two, {}).isAsked).toBe(true);
});

test("a row of a batch that was written before a refusal was known is sent anew all the same", () => {
  const model = asked("openai-responses");
  const post = () => Promise.reject(new Error("not asked"));
  const direct = openAsking(model, request());
  direct.shape({});
  expect(direct.adapt("400 text.format is not supported", 400)).toBe(true);
  const row = openAsking(model, request({ post }));
  expect(row.shape({})).toEqual({});
  expect(row.adapt("400 text.format is not supported", 400)).toBe(true);
});

test("fields that a server of chat completions does not know are left out, and the limit gets its other name once", async () => {
  const refusal = (message: string) => ({ status: 400, body: JSON.stringify({ error: { message } }) });
  const { server, model } = await serve([
    refusal(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ),
    refusal("Unrecognized request argument supplied: stream_options"),
    { text: "yes" },
    refusal("max_completion_tokens: Extra inputs are not permitted"),
  ]);
  expect(await ask(model)).toMatchObject({ ok: false, charged: true, isAdapted: true });
  expect(await ask(model)).toMatchObject({ ok: false, isAdapted: true });
  expect(await ask(model)).toMatchObject({ ok: true, turn: { text: "yes" } });
  expect(await ask(model)).not.toMatchObject({ isAdapted: true });
  const fields = server.requests.map(({ body }) => Object.keys(body).filter((name) => /max|stream_/.test(name)));
  expect(fields).toEqual([
    ["stream_options", "max_tokens"],
    ["stream_options", "max_completion_tokens"],
    ["max_completion_tokens"],
    ["max_completion_tokens"],
  ]);
  expect(server.requests[3]?.body.max_completion_tokens).toBe(100);
});

test("a level of thinking that a server does not know is left out, and told", () => {
  const model = asked("openai-completions");
  const first = openAsking(model, request());
  expect(first.shape({ reasoning_effort: "low" })).toMatchObject({ reasoning_effort: "low" });
  expect(first.adapt("400 reasoning_effort is not supported by this model", 400)).toBe(true);
  const next = openAsking(model, request());
  expect(next.shape({ reasoning_effort: "low", seed: 1 })).not.toHaveProperty("reasoning_effort");
  expect(next.sent()).toMatchObject({ ignored: ["thinking"] });
});
