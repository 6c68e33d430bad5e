import type { AssistantMessage, Context, Message, TextContent, ToolCall } from "belay-pi-ai";
import { isRecord } from "../../platform/json.ts";
import type { ModelMessage, ModelRequest, ModelTurn, Usage } from "../port.ts";
import { toolUses } from "../replies/tool-use.ts";
import { NO_USAGE } from "../usage.ts";

/** The request as pi-ai takes it. Timestamps are not sent to any provider. */
export function toContext(request: ModelRequest): Context {
  return {
    ...(request.system === null ? {} : { systemPrompt: request.system }),
    messages: toMessages(request.messages),
    ...(request.tools.length === 0 ? {} : { tools: [...request.tools] }),
  };
}

/** Facts of an answer beside the message that pi-ai made of it. */
interface AnswerFacts extends Pick<ModelRequest, "tools"> {
  /** The answer is not whole. */
  readonly isCut: boolean;
  /** The arguments of tool calls as they were sent, by the place of the call in the message. */
  readonly argumentTexts: ReadonlyMap<number, string>;
}

/** The model's turn. */
export function toTurn(message: AssistantMessage, { tools, isCut, argumentTexts }: AnswerFacts): ModelTurn {
  const text = message.content.filter((part): part is TextContent => part.type === "text");
  const uses = message.content.flatMap((part, at) =>
    isCall(part) ? [{ ...part, text: argumentTexts.get(at) ?? refusedArguments(part) }] : [],
  );
  return {
    text: text.map((part) => part.text).join(""),
    toolUses: toolUses(uses, tools),
    stop: isCut ? "length" : uses.length > 0 ? "tools" : "end",
    raw: message,
  };
}

/** The text of arguments that pi-ai could not read: it stands at the end of pi-ai's words about them. */
const refusedArguments = ({ argumentsError }: ToolCall) => argumentsError?.split("\n\nReceived arguments:\n")[1];

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
      const reply = withPlacedIds(withUses(message.answer), calls);
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

/** An earlier answer whose tool calls have the names and arguments that were read. */
function withUses({ raw, toolUses: uses }: ModelTurn): AssistantMessage {
  const message = toAssistant(raw);
  const left = uses.values();
  const content = message.content.map((part) => {
    if (!isCall(part)) return part;
    const { name, arguments: read } = left.next().value ?? part;
    return { ...part, name, arguments: { ...read } };
  });
  return { ...message, content };
}

function toAssistant(raw: unknown): AssistantMessage {
  if (isAssistantMessage(raw)) return raw;
  throw new TypeError("an earlier answer was not given by this adapter");
}

function isAssistantMessage(value: unknown): value is AssistantMessage {
  return isRecord(value) && value.role === "assistant" && Array.isArray(value.content);
}
