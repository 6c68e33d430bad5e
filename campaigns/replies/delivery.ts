import type { Json } from "../../runtime/index.ts";
import { openModels } from "../../src/models/models.ts";
import type { Model, PostedAnswer } from "../../src/models/port.ts";
import type { Case, ReplyApi, ScriptedReply } from "./case.ts";
import type { Place } from "./place.ts";
import type { Seen } from "./seen.ts";
import { type WireApi, written } from "./wire.ts";

/** Models of providers whose batches are known. Nothing is sent: the row is given at once. */
const MODELS: Readonly<Record<ReplyApi, readonly [name: string, api: WireApi]>> = {
  chat: ["local/m", "chat"],
  "chat-listed": ["local/m", "chat"],
  responses: ["openai/gpt-4.1", "responses"],
  anthropic: ["anthropic/claude-sonnet-4-5", "anthropic"],
  gemini: ["google/gemini-2.5-pro", "gemini"],
};

/** The reply is the row of a provider batch. */
export async function playDelivery(one: Case, { server }: Place): Promise<Seen> {
  const [name, api] = MODELS[one.api ?? "chat"];
  const address = api === "chat" ? { baseUrl: server.urlOf(one.id) } : { apiKeyEnv: "BELAY_REPLIES_KEY" };
  const model = openModels({ env: { BELAY_REPLIES_KEY: "sk-test" }, model: name, ...address }).resolve(null);
  const answer = await complete(model, one, rowOf(one.replies[0] ?? {}, api));
  if (answer.ok) {
    const { text, mended } = answer.turn;
    return { value: text, fails: null, says: "", warnings: mended ? [`replies_mended: 1 (${mended})`] : [], asked: [] };
  }
  const { code, message, suggestion, retriable } = answer.error;
  return { value: null, fails: code, says: `${message}\n${suggestion}`, retriable, warnings: [], asked: [] };
}

function complete(model: Model, { prompt = "What is it?" }: Case, row: PostedAnswer) {
  return model.complete(
    {
      system: null,
      messages: [{ role: "user", text: prompt }],
      tools: [],
      maxTokens: 100,
      timeoutMs: 9000,
      cache: "none",
      post: async () => row,
    },
    new AbortController().signal,
  );
}

function rowOf(reply: ScriptedReply, api: WireApi): PostedAnswer {
  const { status = 200, body = reply.raw } = reply;
  if (body !== undefined) return { status, body };
  return { status, body: JSON.parse(JSON.stringify(written[api](reply, 0, "m").whole)) as Json };
}
