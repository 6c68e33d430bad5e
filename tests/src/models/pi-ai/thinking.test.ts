import type { Api, Model as PiModel } from "belay-pi-ai";
import { expect, test } from "vitest";
import { THINKING, type Thinking } from "../../../../runtime/index.ts";
import { loadPiAi } from "../../../../src/models/pi-ai/catalog.ts";
import { nearestLevel, thinkingOptions } from "../../../../src/models/pi-ai/model.ts";

const piAi = loadPiAi();

/** One model of each kind: what pi-ai sends depends on these fields. */
function kinds(): readonly PiModel<Api>[] {
  const all: PiModel<Api>[] = piAi.getProviders().flatMap((provider) => piAi.getModels(provider));
  const kindOf = ({ api, reasoning, compat, thinkingLevelMap }: PiModel<Api>) =>
    JSON.stringify([api, reasoning, compat, thinkingLevelMap]);
  return [...new Map(all.map((model) => [kindOf(model), model])).values()];
}

/** A key in the form that a ChatGPT login has; other providers take any text. */
const CLAIMS = Buffer.from('{"https://api.openai.com/auth":{"chatgpt_account_id":"a"}}').toString("base64");

/** The body of the request that pi-ai would send. */
async function bodyOf(model: PiModel<Api>, level: Thinking, maxTokens: number): Promise<string> {
  let body: unknown;
  const onPayload = (payload: unknown): never => {
    body = payload;
    throw new Error("nothing is sent");
  };
  const apiKey = model.provider === "openai" ? "sk-key" : `a.${CLAIMS}.b`;
  const options = { ...thinkingOptions(model, level, maxTokens), apiKey, maxRetries: 0, onPayload };
  const asked = { messages: [{ role: "user" as const, content: "Q", timestamp: 0 }] };
  await piAi.streamSimple({ ...model, baseUrl: model.baseUrl || "http://127.0.0.1:9" }, asked, options).result();
  expect(body, `${model.provider}/${model.id}`).toBeDefined();
  return JSON.stringify(body);
}

/** The numbers of all fields of this kind of name. */
function numbersIn(body: string, name: RegExp): number[] {
  const found = [...body.matchAll(/"(\w+)":(\d+)/g)];
  return found.filter(([, field = ""]) => name.test(field)).map(([, , value]) => Number(value));
}

test.each([4096, 1500])("with %i max_tokens no request of any kind of model has a higher limit", async (most) => {
  for (const model of kinds()) {
    for (const level of THINKING) {
      const body = await bodyOf(model, level, most);
      const limits = numbersIn(body, /^max_?(completion_?|output_?)?tokens$/i);
      const where = `${model.provider}/${model.id} at ${level}: ${body}`;
      // A subscription of ChatGPT takes no limit.
      expect(limits.length > 0 || model.api === "openai-codex-responses", where).toBe(true);
      for (const limit of limits) expect(limit, where).toBeLessThanOrEqual(most);
      for (const budget of numbersIn(body, /budget/i)) expect(budget, where).toBeLessThan(Math.max(...limits));
    }
  }
});

const withLevels = (thinkingLevelMap: NonNullable<PiModel<Api>["thinkingLevelMap"]>): PiModel<Api> => {
  const [model] = piAi.getModels("openai");
  if (!model) throw new Error("pi-ai lists no model of OpenAI");
  return { ...model, reasoning: true, thinkingLevelMap };
};

test.each([
  [{}, "off", "off"],
  [{ off: null }, "off", "minimal"],
  [{ off: null, minimal: null }, "off", "low"],
  [{}, "max", "high"],
  [{ xhigh: "xhigh" }, "max", "xhigh"],
  [{ max: "max" }, "xhigh", "max"],
  [{ low: null, medium: null, high: null }, "medium", "minimal"],
] as const)("of a model with the levels %j the level %s becomes %s", (levels, wanted, nearest) => {
  expect(nearestLevel(withLevels(levels), wanted)).toBe(nearest);
});

test("a model that cannot think is not asked to", () => {
  expect(nearestLevel({ ...withLevels({}), reasoning: false }, "high")).toBe("off");
});
