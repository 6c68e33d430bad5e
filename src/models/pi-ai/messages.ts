import type { AssistantMessage, Context, Message, TextContent, ToolCall } from "belay-pi-ai";
import { isRecord } from "../../platform/json.ts";
import type { ModelMessage, ModelRequest, ModelTurn } from "../port.ts";
import { withoutThinking } from "../replies/thinking.ts";
import { toolUses } from "../replies/tool-use.ts";
import { sentMessages, shownTexts } from "../sent-messages.ts";
import type { SeenResponse } from "./response-watch.ts";

/** The request as pi-ai takes it. Timestamps are not sent to any provider. */
export function toContext(request: ModelRequest): Context {
  return {
    ...(request.system === null ? {} : { systemPrompt: request.system }),
    messages: toMessages(sentMessages(request)),
    ...(request.tools.length === 0 ? {} : { tools: [...request.tools] }),
  };
}

/** Facts of an answer beside the message that pi-ai made of it. */
interface AnswerFacts extends Pick<ModelRequest, "tools"> {
  /** The request that it answers. */
  readonly request: Pick<ModelRequest, "system" | "messages">;
  /** The answer is not whole. */
  readonly isCut: boolean;
  /** The arguments of tool calls as they were sent, by the place of the call in the message. */
  readonly argumentTexts: ReadonlyMap<number, string>;
  readonly seen: Pick<SeenResponse, "isReplaced" | "hasOthers" | "hasMore">;
}

/** The model's turn, and whether it holds thinking, in a part of its own or in its text. */
export function toTurn(
  message: AssistantMessage,
  { tools, isCut, argumentTexts, seen, request }: AnswerFacts,
): { readonly turn: ModelTurn; readonly isThought: boolean } {
  const texts = message.content.filter((part): part is TextContent => part.type === "text");
  const said = texts.map((part) => part.text).join("");
  const whole = said.toWellFormed();
  const { text, isThought, isEnded, mended = [] } = withoutThinking(whole, shownTexts(request));
  const uses = message.content.flatMap((part, at) =>
    isCall(part) ? [{ ...part, text: argumentTexts.get(at) ?? refusedArguments(part) }] : [],
  );
  const hasThought = isThought || message.content.some(({ type }) => type === "thinking");
  const hasReplaced =
    seen.isReplaced === true && [text, ...uses.map((use) => use.text ?? "")].some((one) => one.includes("\ufffd"));
  const kinds = [
    ...mended,
    ...(hasReplaced ? [REPLACED] : []),
    ...(seen.hasOthers ? [OTHERS] : []),
    ...(seen.hasMore ? [MORE] : []),
    ...(whole === said ? [] : [HALVES]),
    ...(message.stopReason === "toolUse" && uses.length === 0 ? [NO_CALL] : []),
  ];
  const turn: ModelTurn = {
    text,
    toolUses: toolUses(uses, tools),
    stop: isCut && !isEnded ? "length" : uses.length > 0 ? "tools" : "end",
    raw: text === said ? message : withText(message, text),
    ...(kinds.length === 0 ? {} : { mended: kinds }),
    ...(isCut && hasThought && text.trim() === "" && uses.length === 0 ? { isThought: true } : {}),
  };
  return { turn, isThought: hasThought };
}

const REPLACED = "bytes that are not UTF-8";
const OTHERS = "answers beside the first";
const MORE = "words behind its end";
const HALVES = "half characters";
const NO_CALL = "an end by a call that did not come";

/** The message with this text instead of its first one. */
function withText(message: AssistantMessage, text: string): AssistantMessage {
  const first = message.content.find((part) => part.type === "text");
  const content = message.content.flatMap((part): AssistantMessage["content"] => {
    if (part.type !== "text") return [part];
    return part === first && text !== "" ? [{ ...part, text }] : [];
  });
  return { ...message, content };
}

/**
 * The text of arguments that pi-ai could not read: it stands at the end of pi-ai's words about
 * them.
 */
const refusedArguments = ({ argumentsError }: ToolCall) => argumentsError?.split("\n\nReceived arguments:\n")[1];

/**
 * The turn with the first `units` of its text, and without its tool calls, as if the model had
 * stopped there.
 */
export function cutTurn(turn: ModelTurn, units: number): ModelTurn {
  const message = toAssistant(turn);
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

/**
 * The messages with ids of calls by their places in the conversation, whatever ids came: each
 * differs, a resumed conversation sends the same bytes, and every chat template takes them. Those
 * of Mistral want nine letters and digits.
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

/**
 * The reply whose calls are named by their places.
 *
 * @param before calls that the conversation has before it
 */
function withPlacedIds(reply: AssistantMessage, before: number): AssistantMessage {
  const given = reply.content.filter(isCall).map(({ id }) => id);
  // In the Responses API the id of an item follows, which its reasoning belongs to.
  const itemOf = (id: string) => (reply.api.includes("responses") && id.includes("|") ? id.slice(id.indexOf("|")) : "");
  const placed = given.map((id, at) => `call${String(before + at + 1).padStart(5, "0")}${itemOf(id)}`);
  // Signatures such as those of OpenRouter name the call that they belong to.
  const renamed = (signature: string) =>
    signature.replace(/"id":"([^"\\]*)"/g, (whole, id) => {
      const name = placed[given.indexOf(id)];
      return name === undefined ? whole : `"id":"${name}"`;
    });
  const left = placed.values();
  const content = reply.content.map((part): Part => {
    if (part.type === "thinking" && part.thinkingSignature !== undefined)
      return { ...part, thinkingSignature: renamed(part.thinkingSignature) };
    if (part.type !== "toolCall") return part;
    const { thoughtSignature } = part;
    const signed = thoughtSignature === undefined ? {} : { thoughtSignature: renamed(thoughtSignature) };
    return { ...part, ...signed, id: left.next().value ?? part.id };
  });
  return { ...reply, content };
}

type Part = AssistantMessage["content"][number];
const isCall = (part: Part): part is ToolCall => part.type === "toolCall";

function toResult({ use, text, isError }: Extract<ModelMessage, { role: "tool" }>, toolCallId: string): Message {
  // pi-ai takes an empty result for an image and says so to the model.
  const content = [{ type: "text" as const, text: text || "(empty)" }];
  return { role: "toolResult", toolCallId, toolName: use.name, content, isError, timestamp: 0 };
}

/** An earlier answer whose tool calls have the names and arguments that were read. */
function withUses(answer: ModelTurn): AssistantMessage {
  const message = toAssistant(answer);
  const left = answer.toolUses.values();
  const content = message.content.map((part) => {
    if (!isCall(part)) return part;
    const { name, arguments: read } = left.next().value ?? part;
    return { ...part, name, arguments: { ...read } };
  });
  return { ...message, content };
}

/**
 * An earlier answer as pi-ai gave it, or written anew if another adapter did or if it is told in
 * other words.
 */
function toAssistant({ raw, text, toolUses }: ModelTurn): AssistantMessage {
  if (isAssistantMessage(raw)) return raw;
  const said = text === "" ? [] : [{ type: "text" as const, text }];
  const calls = toolUses.map((use) => ({ type: "toolCall" as const, ...use, arguments: { ...use.arguments } }));
  return { ...NO_ANSWER, content: [...said, ...calls], stopReason: "stop" };
}

const NO_TOKENS = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** A message of pi-ai that failed and says nothing. */
export const NO_ANSWER: AssistantMessage = {
  role: "assistant",
  content: [],
  api: "",
  provider: "",
  model: "",
  usage: { ...NO_TOKENS, cost: { ...NO_TOKENS, total: 0 }, totalTokens: 0 },
  stopReason: "error",
  timestamp: 0,
};

function isAssistantMessage(value: unknown): value is AssistantMessage {
  return isRecord(value) && value.role === "assistant" && Array.isArray(value.content);
}
