import { expect, test } from "vitest";
import type { Sampling, Thinking } from "../../../../runtime/index.ts";
import { placedParameters, refusedParameter } from "../../../../src/models/pi-ai/parameters.ts";

const ALL = { temperature: 0.5, top_p: 0.9, seed: 7, stop: ["END"] };

const placed = (
  api: string,
  sampling: Sampling = ALL,
  { body = {}, thinking = "off" as Thinking, refused = new Set<string>() } = {},
) => placedParameters(api, body, { sampling, thinking }, refused);

test.each([
  ["openai-completions", { temperature: 0.5, top_p: 0.9, seed: 7, stop: ["END"] }, []],
  ["openai-responses", { temperature: 0.5, top_p: 0.9 }, ["seed", "stop"]],
  ["openai-codex-responses", {}, ["temperature", "top_p", "seed", "stop"]],
  ["anthropic-messages", { temperature: 0.5, top_p: 0.9, stop_sequences: ["END"] }, ["seed"]],
  [
    "google-generative-ai",
    { "config.temperature": 0.5, "config.topP": 0.9, "config.seed": 7, "config.stopSequences": ["END"] },
    [],
  ],
  ["mistral-conversations", { temperature: 0.5, topP: 0.9, randomSeed: 7, stop: ["END"] }, []],
  [
    "bedrock-converse-stream",
    { "inferenceConfig.temperature": 0.5, "inferenceConfig.topP": 0.9, "inferenceConfig.stopSequences": ["END"] },
    ["seed"],
  ],
])("the API %s has the parameters at %j, and not %j", (api, fields, ignored) => {
  expect(placed(api)).toMatchObject({ fields, ignored });
  expect(Object.keys(placed(api).fields)).toEqual(Object.keys(fields));
});

const THINKS = { body: { thinking: { type: "enabled", budget_tokens: 1024 } }, thinking: "low" as const };
const ADAPTIVE = { body: { additionalModelRequestFields: { thinking: { type: "adaptive" } } } };

test.each<[string, Sampling, Parameters<typeof placed>[2], readonly string[]]>([
  ["anthropic-messages", { temperature: 1.2 }, {}, ["temperature"]],
  ["anthropic-messages", { temperature: 0, top_p: 0.5 }, THINKS, ["temperature", "top_p"]],
  ["anthropic-messages", { temperature: 1, top_p: 0.95 }, THINKS, []],
  ["anthropic-messages", { temperature: 0 }, { body: { thinking: { type: "disabled" } } }, []],
  ["anthropic-messages", { stop: ["\n", "END"] }, {}, ["stop"]],
  ["bedrock-converse-stream", { temperature: 0 }, ADAPTIVE, ["temperature"]],
  ["google-vertex", { seed: 2 ** 31 }, {}, ["seed"]],
  ["mistral-conversations", { seed: -1, temperature: 1.6 }, {}, ["temperature", "seed"]],
  ["openai-completions", { seed: -1, temperature: 2 }, {}, []],
])("%s with %j leaves out what it would refuse (case %#)", (api, sampling, given, ignored) => {
  expect(placed(api, sampling, given).ignored).toEqual(ignored);
});

test.each<[string, string | undefined]>([
  ["400 Unsupported parameter: 'temperature' is not supported with this model.", "temperature"],
  [
    "400 Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    "temperature",
  ],
  ["400 Unsupported parameter: 'stop' is not supported with this model.", "stop"],
  ["400 Unrecognized request argument supplied: seed", "seed"],
  ["400 Unknown parameter: 'seed'. Others are temperature, top_p and stop.", "seed"],
  ["422 [{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted'}]", "seed"],
  ["422 Input should be less than or equal to 1.5: temperature", "temperature=0.5"],
  ["400 temperature: range: -1..1", "temperature=0.5"],
  ["400 `temperature` may only be set to 1 when thinking is enabled. Please consult our documentation", "temperature"],
  ["400 `temperature` is deprecated for this model.", "temperature"],
  [
    "400 `temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    "top_p beside temperature",
  ],
  ["400 stop_sequences: each stop sequence must contain non-whitespace", "stop"],
  ["400 Argument not supported on this model: stop", "stop"],
  ["400 Invalid value at 'generation_config.top_p' (TYPE_FLOAT)", "top_p"],
  ["400 Unknown name \"topP\" at 'generation_config': Cannot find field.", "top_p"],
  ["422 random_seed: Extra inputs are not permitted", "seed"],
  ["400 messages: text content blocks must be non-empty", undefined],
  ["500 the server is on fire", undefined],
])("the refusal %j is about %j", (said, part) => {
  expect(refusedParameter(said, placed("openai-completions").parts)).toBe(part);
});

test("what was refused is left out: for every value or one, beside another or while the model thinks", () => {
  const ignored = (refused: string, sampling: Sampling = ALL, thinking: Thinking = "off") =>
    placed("openai-completions", sampling, { refused: new Set([refused]), thinking }).ignored;
  expect(ignored("seed")).toEqual(["seed"]);
  expect(ignored("seed=7")).toEqual(["seed"]);
  expect(ignored("seed=7", { seed: 8 })).toEqual([]);
  expect(ignored("top_p beside temperature")).toEqual(["top_p"]);
  expect(ignored("top_p beside temperature", { top_p: 1 })).toEqual([]);
  expect(ignored("temperature while it thinks")).toEqual([]);
  expect(ignored("temperature while it thinks", ALL, "low")).toEqual(["temperature"]);
});

test("a parameter that the request does not have was not refused", () => {
  expect(refusedParameter("400 seed is not supported", placed("openai-completions", { stop: ["x"] }).parts)).toBe(
    undefined,
  );
});
