import type { ChatBody } from "./model-server.ts";

/** What chat templates refuse, in their own words: those of Mistral, Gemma and Llama 3 among them. */
export type TemplateRule = "alternating" | "nine letters" | "one call" | "no system" | "no tools" | "no results";

/** The words with which a template that has these rules refuses a request; null: it takes it. */
export function refusalByTemplate({ messages, tools }: ChatBody, rules: readonly TemplateRule[]): string | null {
  const [first] = messages;
  const spoken = messages.filter(({ role, tool_calls }) => role === "user" || (role === "assistant" && !tool_calls));
  const calls = messages.map(({ tool_calls }) => (Array.isArray(tool_calls) ? tool_calls : []));
  const ids = calls.flat().map(({ id }: { id: unknown }) => String(id));
  const results = messages.flatMap(({ tool_call_id }) => tool_call_id ?? []);
  const afterTool = messages.findIndex(({ role }, at) => role === "user" && messages[at - 1]?.role === "tool");
  const isRefused: Record<TemplateRule, boolean> = {
    alternating: afterTool >= 0 || spoken.some(({ role }, at) => (role === "user") !== (at % 2 === 0)),
    "nine letters": ids.some((id) => !/^[A-Za-z0-9]{9}$/.test(id)) || JSON.stringify(ids) !== JSON.stringify(results),
    "one call": calls.some(({ length }) => length > 1),
    "no system": first?.role === "system",
    "no tools": tools !== undefined,
    "no results": results.length > 0,
  };
  const broken = rules.find((rule) => isRefused[rule]);
  return broken === undefined ? null : WORDS[broken];
}

const ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/...";

const WORDS: Readonly<Record<TemplateRule, string>> = {
  alternating: ALTERNATE,
  "nine letters": "Tool call IDs should be alphanumeric strings with length 9!",
  "one call": "This model only supports single tool-calls at once!",
  "no system": "System role not supported",
  "no tools": "this model does not support tools",
  "no results": ALTERNATE,
};
