import { isRecord } from "../../platform/json.ts";

/** APIs whose providers keep the beginnings of requests in a cache, as far as it is known. */
const CACHING = [
  "openai-completions",
  "openai-responses",
  "azure-openai-responses",
  "openai-codex-responses",
  "anthropic-messages",
  "google-generative-ai",
  "google-vertex",
];

/** True if it is worth it to send one of several requests with the same beginning ahead. */
export const cachesBeginnings = (api: string): boolean => CACHING.includes(api);

type Fields = Readonly<Record<string, unknown>>;

const MARK = { cache_control: { type: "ephemeral" } };

/**
 * Marks what a request shares with others for the cache of Anthropic, whose providers keep nothing
 * else. Those of other APIs keep all. Without a place for the mark the body stays as it is.
 *
 * @param units UTF-16 units of the first message; 0: the system prompt alone is shared
 */
export function withSharedBeginning(api: string, body: Fields, units: number): Fields {
  const { messages, system = [] } = body;
  if (api !== "anthropic-messages" || !Array.isArray(messages) || !Array.isArray(system)) return body;
  // A request may have four marks, and one on the message is for what stands before it too.
  const unmarked = system.map(({ cache_control, ...block }: Fields) => block);
  const [first, ...more]: readonly Fields[] = messages;
  const given = typeof first?.content === "string" ? [{ type: "text", text: first.content }] : first?.content;
  const [block, ...rest]: readonly unknown[] = Array.isArray(given) ? given : [];
  if (!isRecord(block) || typeof block.text !== "string") return body;
  const start = block.text.slice(0, units);
  const end = block.text.slice(units);
  // A block of white space alone is refused.
  if (start.trim() === "") {
    const last = unmarked.pop();
    return last ? { ...body, system: [...unmarked, { ...last, ...MARK }] } : body;
  }
  const content =
    end.trim() === ""
      ? [{ ...block, ...MARK }, ...rest]
      : [{ ...block, text: start, ...MARK }, { ...block, text: end }, ...rest];
  const marked = { ...body, messages: [{ ...first, content }, ...more] };
  return unmarked.length > 0 ? { ...marked, system: unmarked } : marked;
}
