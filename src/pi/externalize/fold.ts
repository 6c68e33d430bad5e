import type { Fate } from "./apply.ts";
import type { EpochEntry } from "./entries.ts";
import { type ObjectIds, objectText, tokensIn } from "./keys.ts";
import { objectLine, ownText, plain } from "./stub.ts";

// The first version of what stands for folded turns. It must never change, as stubs must not.

/** The message that replaces folded ones. */
export interface FoldMessage {
  readonly role: "user";
  readonly content: { type: "text"; text: string }[];
  readonly timestamp: number;
}

type Folded = Pick<Fate, "message" | "key" | "call">;

/** Tokens that a list has at the most, and that a text must have to be in it. */
export type ListBounds = Pick<EpochEntry, "manifest" | "min">;

/** The message that replaces these: their prompts and objects, the newest first. Nothing else enters it. */
export function foldMessage(folded: readonly Folded[], by: ListBounds, ids: ObjectIds): FoldMessage {
  const text = manifest(folded, by, ids);
  return { role: "user", content: [{ type: "text", text }], timestamp: folded[0]?.message.timestamp ?? 0 };
}

/** Prompts and objects of messages, the newest first, within so many tokens. */
export function manifest(folded: readonly Folded[], by: ListBounds, ids: ObjectIds): string {
  const head = [
    `[RLM folded: ${countOf(folded)}. All of it can be read.]`,
    `Use rlm_peek("rlm-obj-…") to view one of these, or rlm_search to find specific content. Newest first:`,
  ];
  return listed(head, folded, by, ids);
}

/** The same for a conversation that continues without our tools: it names none of them. */
export function farewell(folded: readonly Folded[], by: ListBounds, ids: ObjectIds): string {
  const head = [`[${countOf(folded)} were left out to save room. Their prompts and texts, newest first:]`];
  return listed(head, folded, by, ids);
}

function countOf(folded: readonly Folded[]): string {
  const turns = folded.filter(({ message }) => message.role === "user").length;
  return `${turns} earlier ${turns === 1 ? "turn" : "turns"}, ${folded.length} messages`;
}

function listed(head: readonly string[], folded: readonly Folded[], by: ListBounds, ids: ObjectIds): string {
  const lines = folded.filter((one) => hasLine(one, by.min)).reverse();
  const shown: string[] = [];
  let tokens = tokensIn(head.join("\n").length) + ROOM_FOR_REST;
  for (const one of lines) {
    const line = lineOf(one, ids);
    tokens += tokensIn(line.length + 1);
    if (tokens > by.manifest) break;
    shown.push(line);
  }
  const rest = lines.length - shown.length;
  return [...head, ...shown, ...(rest > 0 ? [`+${rest} older ${rest === 1 ? "line" : "lines"}`] : [])].join("\n");
}

/** Tokens of the last line, that counts those left out. */
const ROOM_FOR_REST = 6;
const PROMPT_UNITS = 160;

function hasLine({ message }: Folded, min: number): boolean {
  const text = objectText(message);
  return text !== null && (message.role === "user" || tokensIn(text.length) >= min);
}

function lineOf({ message, key, call }: Folded, ids: ObjectIds): string {
  const parts = { key: key ?? "", call, ids };
  if (message.role !== "user") return `- ${objectLine(message, parts)}`;
  const said = plain(ownText(message), PROMPT_UNITS);
  return `- ${ids.idOf(parts.key, objectText(message) ?? "")} | prompt: ${said}`;
}
