import { onTestFinished } from "vitest";
import type { Authorization, Model, ModelAnswer, ModelMessage, ModelRequest } from "../../src/models/index.ts";
import { openModels } from "../../src/models/models.ts";
import { loadPiAi } from "../../src/models/pi-ai/catalog.ts";
import { piAiModel } from "../../src/models/pi-ai/model.ts";
import { type ModelScript, type ModelServer, type ScriptedAnswer, startModelServer } from "./model-server.ts";

/** The key that models of this file send. */
export const KEY = "key-of-the-user-123";

export const AUTHORIZATION: Authorization = {
  key: KEY,
  headers: { "x-team": "blue" },
  expires: Number.POSITIVE_INFINITY,
};

/** A scripted server and the model `local/scripted` there; closed when the test ends. */
export async function serve(script: ModelScript): Promise<{ server: ModelServer; model: Model }> {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  const models = openModels({ model: "local/scripted", baseUrl: server.url, apiKeyEnv: "K", env: { K: KEY } });
  return { server, model: models.resolve(null) };
}

/** Asks `hi`, or what the request says otherwise. */
export function ask(
  model: Model,
  request: Partial<ModelRequest> = {},
  signal = new AbortController().signal,
): Promise<ModelAnswer> {
  const messages: ModelMessage[] = [{ role: "user", text: "hi" }];
  return model.complete(
    { system: null, messages, tools: [], maxTokens: 100, timeoutMs: 9000, cache: "none", ...request },
    signal,
  );
}

/** What the model makes of one answer of the server. */
export async function answerTo(answer: ScriptedAnswer): Promise<ModelAnswer> {
  const { model } = await serve([answer]);
  return await ask(model);
}

/** The message of a failed answer; "" for one that did not fail. */
export function messageOf(answer: ModelAnswer): string {
  return answer.ok ? "" : answer.error.message;
}

/** A model of pi-ai's faux provider, which answers without a network. */
export function faux(api?: string) {
  const provider = loadPiAi().registerFauxProvider({
    ...(api === undefined ? {} : { api }),
    models: [{ id: "f", cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 } }],
  });
  onTestFinished(() => provider.unregister());
  const price = { input: 1, output: 2 };
  const parts = { model: provider.getModel(), price, window: null, authorize: () => AUTHORIZATION, load: loadPiAi };
  return { provider, parts, model: piAiModel(parts) };
}
