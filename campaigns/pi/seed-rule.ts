import type { ContextEvent, ExtensionAPI } from "@mariozechner/pi-coding-agent";

// The rule that Belay's is compared with (specification FR-2, FR-3): each request is brought down to 60 % of the window, the
// largest texts first, and a list of what is outside stands in the first user message. Pi's compactions are cancelled.

const PART = 0.6;
const LIST_UNITS = 8000;

type Message = ContextEvent["messages"][number];

export default function (pi: ExtensionAPI): void {
  const outside = new Map<string, string>();
  pi.on("session_before_compact", () => ({ cancel: true }));
  pi.on("context", ({ messages }, { model }) => {
    const most = (model?.contextWindow ?? 0) * PART;
    const stubs = messages.map((message) => withStub(message, outside));
    let tokens = stubs.reduce((sum, message) => sum + textOf(message).length / 4, 0);
    const largest = stubs
      .map((message, n) => ({ n, message, units: textOf(message).length }))
      .slice(0, -2)
      .filter(({ message, units }) => message.role === "toolResult" && units > 800)
      .toSorted((a, b) => b.units - a.units);
    for (const { n, message, units } of largest) {
      if (tokens <= most || message.role !== "toolResult") break;
      outside.set(message.toolCallId, `[RLM externalized: ${message.toolCallId} | ${Math.ceil(units / 4)} tokens]`);
      const stub = withStub(message, outside);
      stubs[n] = stub;
      tokens -= (units - textOf(stub).length) / 4;
    }
    return { messages: withList(stubs, [...outside.values()].toReversed().join("\n").slice(0, LIST_UNITS)) };
  });
}

function withStub(message: Message, outside: ReadonlyMap<string, string>): Message {
  const text = message.role === "toolResult" ? outside.get(message.toolCallId) : undefined;
  return message.role === "toolResult" && text ? { ...message, content: [{ type: "text", text }] } : message;
}

function withList(messages: readonly Message[], list: string): Message[] {
  const first = messages.findIndex(({ role }) => role === "user");
  return messages.map((message, n) =>
    n === first && message.role === "user" && list !== ""
      ? { ...message, content: [{ type: "text" as const, text: `${list}\n\n${textOf(message)}` }] }
      : message,
  );
}

function textOf(message: Message): string {
  if (!("content" in message)) return "";
  if (typeof message.content === "string") return message.content;
  return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
