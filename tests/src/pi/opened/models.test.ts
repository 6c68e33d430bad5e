import { type Api, fauxAssistantMessage, type Model, registerFauxProvider, streamSimple } from "@mariozechner/pi-ai";
import { expect, onTestFinished, test } from "vitest";
import { RlmError } from "../../../../src/index.ts";
import type { ModelAnswer } from "../../../../src/models/index.ts";
import type { PiRegistry } from "../../../../src/pi/host.ts";
import { openPiModels } from "../../../../src/pi/opened/models.ts";

function provider() {
  const faux = registerFauxProvider({
    provider: "faux",
    models: [{ id: "paid/model", cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } }, { id: "unpriced" }],
  });
  onTestFinished(() => faux.unregister());
  const models = faux.models;
  const registry: PiRegistry = {
    find: (name, id) => models.find((model) => name === "faux" && model.id === id),
    getAll: () => models,
    getApiKeyAndHeaders: async () => ({ ok: true, apiKey: "key-of-pi", headers: { "x-team": "blue", "x-none": null } }),
  };
  return { faux, registry, models };
}

const request = {
  ...{ system: null, messages: [{ role: "user", text: "hi" }] as const, tools: [], maxTokens: 10, timeoutMs: 9_000 },
  cache: "none" as const,
};
const signal = new AbortController().signal;

const textOf = (answer: ModelAnswer) =>
  answer.ok ? answer.turn.text : `${answer.error.code}: ${answer.error.message}`;

function problemOf(work: () => unknown): string {
  try {
    return `no problem: ${work()}`;
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    return `${error.code}: ${error.message} | ${error.suggestion}`;
  }
}

test("sub_model comes first, then the model that Pi uses now", () => {
  const { registry, models } = provider();
  let current: Model<Api> | undefined = models[0];
  const open = (subModel?: string) => openPiModels(() => ({ modelRegistry: registry, model: current }), subModel);
  expect(open().resolve(null).id).toBe("faux/paid/model");
  expect(open().fallback).toBe("faux/paid/model");
  expect(open("faux/unpriced").resolve(null).id).toBe("faux/unpriced");
  expect(open("faux/unpriced").resolve("faux/paid/model").id).toBe("faux/paid/model");
  expect(open().price(null)).toEqual({ input: 1, output: 2 });
  expect(open("faux/unpriced").price(null)).toBeNull();
  current = undefined;
  expect(open().fallback).toBeNull();
  expect(problemOf(() => open().resolve(null))).toContain(
    "no_model_configured: Pi has no model, and sub_model is not set",
  );
  expect(problemOf(() => open("faux/paid/modle").resolve(null))).toBe(
    "no_model_configured: Pi has no model faux/paid/modle | Did you mean faux/paid/model?",
  );
  expect(problemOf(() => open("scripted").resolve(null))).toContain("Pi has no model scripted");
  expect(open("other/one").refusal?.("other/two")).toBeNull();
  expect(open("other/one").refusal?.("third/one")).toMatchObject({ code: "policy_violation" });
});

test("Pi's copy of pi-ai sends, or its registry, with Pi's key and headers", async () => {
  const { faux, registry, models } = provider();
  const seen: unknown[] = [];
  const stream: typeof streamSimple = (model, context, options) => {
    seen.push({ key: options?.apiKey, headers: options?.headers, asked: context.messages.length });
    return streamSimple(model, context, options);
  };
  faux.setResponses([fauxAssistantMessage("one"), fauxAssistantMessage("two")]);
  const models1 = openPiModels(() => ({ modelRegistry: registry, model: models[0] }), undefined);
  expect(textOf(await models1.resolve(null).complete(request, signal))).toBe("one");
  // A registry that sends by itself knows providers that extensions have added.
  const newer: PiRegistry = { ...registry, streamSimple: stream };
  const models2 = openPiModels(() => ({ modelRegistry: newer, model: models[0] }), undefined);
  expect(textOf(await models2.resolve(null).complete(request, signal))).toBe("two");
  expect(seen).toEqual([{ key: "key-of-pi", headers: { "x-team": "blue" }, asked: 1 }]);
});

test("a provider without a key is a failure of the call that says what to do", async () => {
  const { registry, models } = provider();
  const keyless: PiRegistry = {
    ...registry,
    getApiKeyAndHeaders: async () => ({ ok: false, error: 'No API key found for "faux"' }),
  };
  const opened = openPiModels(() => ({ modelRegistry: keyless, model: models[0] }), undefined);
  const answer = await opened.resolve(null).complete(request, signal);
  expect(textOf(answer)).toBe('no_model_configured: Pi has no key for faux: No API key found for "faux"');
});
