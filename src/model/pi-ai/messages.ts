import type { AssistantMessage, Context, Message, TextContent, ToolCall } from "belay-pi-ai";
import { isRecord } from "../../platform/json.ts";
import type { ModelMessage, ModelRequest, ModelTurn, Usage } from "../port.ts";
import { NO_USAGE } from "../usage.ts";

/** The request as pi-ai takes it. Timestamps are not sent to any provider. */
export function toContext(request: ModelRequest): Context {
  return {
    ...(request.system === null ? {} : { systemPrompt: request.system }),
    messages: toMessages(request.messages),
    ...(request.tools.length === 0 ? {} : { tools: [...request.tools] }),
  };
}

/** The model's turn. `cut`: the answer is not whole. */
export function toTurn(message: AssistantMessage, cut: boolean): ModelTurn {
  const text = message.content.filter((part): part is TextContent => part.type === "text");
  const uses = message.content.filter(isCall);
  return {
    text: text.map((part) => part.text).join(""),
    toolUses: uses.map((use) => ({ id: use.id, name: use.name, arguments: use.arguments })),
    stop: cut ? "length" : uses.length > 0 ? "tools" : "end",
    raw: message,
  };
}

/** The turn with the first `units` of its text, and without its tool calls, as if the model had stopped there. */
export function cutTurn(turn: ModelTurn, units: number): ModelTurn {
  const message = toAssistant(turn.raw);
  let left = units;
  const content = message.content.flatMap((part): AssistantMessage["content"] => {
    if (part.type === "toolCall") return [];
    if (part.type !== "text") return left > 0 ? [part] : [];
    const text = part.text.slice(0, left);
    left -= text.length;
    return text === "" ? [] : [{ ...part, text }];
  });
  return { text: turn.text.slice(0, units), toolUses: [], stop: "end", raw: { ...message, content } };
}

/** The usage of an answer; none if the provider tells what no usage can be: a budget would take it for more room, or for no limit. */
export function toUsage(message: AssistantMessage | null): Usage {
  if (!message) return NO_USAGE;
  const { input, output, cacheRead, cacheWrite, cost, reasoning } = message.usage;
  const usage = { input, output, cache_read: cacheRead, cache_write: cacheWrite, cost_usd: cost.total };
  if (!Object.values(usage).every((figure) => Number.isFinite(figure) && figure >= 0)) return NO_USAGE;
  const told = reasoning ?? 0;
  return told > 0 && Number.isFinite(told) ? { ...usage, reasoning: told } : usage;
}

/**
 * The messages with ids of calls by their places in the conversation, whatever ids came: each differs, a resumed conversation
 * sends the same bytes, and every chat template takes them. Those of Mistral want nine letters and digits.
 */
function toMessages(messages: readonly ModelMessage[]): Message[] {
  let calls = 0;
  let unanswered: readonly string[] = [];
  return messages.map((message): Message => {
    if (message.role === "user") return { role: "user", content: message.text, timestamp: 0 };
    if (message.role === "assistant") {
      const reply = withPlacedIds(toAssistant(message.answer.raw), calls);
      unanswered = reply.content.filter(isCall).map(({ id }) => id);
      calls += unanswered.length;
      return reply;
    }
    // The results of a reply's calls follow it in their order.
    const [id = message.use.id, ...later] = unanswered;
    unanswered = later;
    return toResult(message, id);
  });
}

/** The reply whose calls are named by their places. @param before calls that the conversation has before it */
function withPlacedIds(reply: AssistantMessage, before: number): AssistantMessage {
  const given = reply.content.filter(isCall).map(({ id }) => id);
  if (given.length === 0) return reply;
  // In the Responses API the id of an item follows, which its reasoning belongs to.
  const itemOf = (id: string) => (reply.api.includes("responses") && id.includes("|") ? id.slice(id.indexOf("|")) : "");
  const placed = given.map((id, at) => `call${String(before + at + 1).padStart(5, "0")}${itemOf(id)}`);
  const ids = placed[Symbol.iterator]();
  const content = reply.content.map((part): Part => {
    if (part.type === "toolCall") return { ...part, id: ids.next().value ?? part.id };
    if (part.type !== "thinking" || part.thinkingSignature === undefined) return part;
    return { ...part, thinkingSignature: renamed(part.thinkingSignature, given, placed) };
  });
  return { ...reply, content };
}

/** A signature that names the calls which it belongs to, as those of OpenRouter do, with their new ids. */
function renamed(signature: string, given: readonly string[], placed: readonly string[]): string {
  return given.reduce(
    (text, id, at) => text.replaceAll(`"id":${JSON.stringify(id)}`, `"id":${JSON.stringify(placed[at])}`),
    signature,
  );
}

type Part = AssistantMessage["content"][number];
const isCall = (part: Part): part is ToolCall => part.type === "toolCall";

function toResult({ use, text, isError }: Extract<ModelMessage, { role: "tool" }>, toolCallId: string): Message {
  // pi-ai takes an empty result for an image and says so to the model.
  const content = [{ type: "text" as const, text: text || "(empty)" }];
  return { role: "toolResult", toolCallId, toolName: use.name, content, isError, timestamp: 0 };
}

function toAssistant(raw: unknown): AssistantMessage {
  if (isAssistantMessage(raw)) return raw;
  throw new TypeError("an earlier answer was not given by this adapter");
}

function isAssistantMessage(value: unknown): value is AssistantMessage {
  return isRecord(value) && value.role === "assistant" && Array.isArray(value.content);
}
