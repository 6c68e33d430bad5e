import type { AssistantMessage, Context, Message, TextContent, ToolCall } from "belay-pi-ai";
import { isRecord } from "../../platform/json.ts";
import type { ModelMessage, ModelRequest, ModelTurn, Usage } from "../port.ts";
import { NO_USAGE } from "../usage.ts";

/** The request as pi-ai takes it. Timestamps are not sent to any provider. */
export function toContext(request: ModelRequest): Context {
  return {
    ...(request.system === null ? {} : { systemPrompt: request.system }),
    messages: request.messages.map(toMessage),
    ...(request.tools.length === 0 ? {} : { tools: [...request.tools] }),
  };
}

/** The model's turn. `cut`: the answer is not whole. */
export function toTurn(message: AssistantMessage, cut: boolean): ModelTurn {
  const text = message.content.filter((part): part is TextContent => part.type === "text");
  const uses = message.content.filter((part): part is ToolCall => part.type === "toolCall");
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

function toMessage(message: ModelMessage): Message {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.text, timestamp: 0 };
    case "assistant":
      return toAssistant(message.answer.raw);
    case "tool":
      return {
        role: "toolResult",
        toolCallId: message.use.id,
        toolName: message.use.name,
        // pi-ai takes an empty result for an image and says so to the model.
        content: [{ type: "text", text: message.text || "(empty)" }],
        isError: message.isError,
        timestamp: 0,
      };
  }
}

function toAssistant(raw: unknown): AssistantMessage {
  if (isAssistantMessage(raw)) return raw;
  throw new TypeError("an earlier answer was not given by this adapter");
}

function isAssistantMessage(value: unknown): value is AssistantMessage {
  return isRecord(value) && value.role === "assistant" && Array.isArray(value.content);
}
