import { type Api, completeSimple, type Model } from "belay-pi-ai/compat";

/** A request of the provider's library alone, to the model on loopback. */
export async function bareRequest(baseUrl: string, prompt = "hello"): Promise<void> {
  const model: Model<Api> = {
    id: "bench",
    name: "bench",
    api: "openai-completions",
    provider: "local",
    baseUrl,
    reasoning: false,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 100_000,
    maxTokens: 4096,
  };
  const message = { role: "user", content: prompt, timestamp: 0 } as const;
  const answer = await completeSimple(model, { messages: [message] }, { apiKey: "none", maxRetries: 0 });
  if (answer.stopReason !== "stop") throw new Error(answer.errorMessage);
}
