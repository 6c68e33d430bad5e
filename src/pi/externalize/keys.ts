import { hash } from "node:crypto";
import { messageText, objectId } from "../../context/index.ts";
import { historyMessage } from "../branch/messages.ts";
import { blocksOf, isWellFormed, once } from "./message.ts";

/**
 * The key of a message, in entries and in requests: null for messages that are never touched (of
 * the system, summaries, those that no Pi writes, and results whose ids are too long for an entry).
 * Equal keys may come again: a text of an extension, or two messages of one millisecond.
 */
export const keyOf = once((message): string | null => {
  if (!isWellFormed(message)) return null;
  const { role, toolCallId, customType = "", timestamp } = message;
  if (role === "toolResult") return toolCallId === undefined || !isNameable(toolCallId) ? null : resultKey(toolCallId);
  if (role === "custom") {
    const text = objectText(message) ?? "";
    return `custom:${customType}:${hash("sha256", text.toWellFormed()).slice(0, 12)}`;
  }
  return TIMED.includes(role) && timestamp !== undefined ? `${role}:${timestamp}` : null;
});

/**
 * True if an entry has room for the id of a call, which a provider may make as long as it likes.
 */
const isNameable = (id: string) => Buffer.byteLength(JSON.stringify(id)) <= MOST_ID_BYTES;
const MOST_ID_BYTES = 1500;

/** The key of a call's result. */
export const resultKey = (toolCallId: string) => `toolResult:${toolCallId}`;

/** True if the key is made of a time, so that it hardly comes twice. */
export function isTimed(key: string): boolean {
  return TIMED.some((role) => key.startsWith(`${role}:`));
}

const TIMED = ["user", "assistant", "bashExecution"];

/**
 * The text that the message is an object with: its document in the history has the same. null for
 * what is not sent.
 */
export const objectText = once((message): string | null => {
  const said = historyMessage(message);
  return said && messageText(said);
});

/** The id of an object, which a reader of ids may remember by the message's key. */
export interface ObjectIds {
  idOf(key: string, text: string): string;
}

/** Ids of texts, remembered: a text is hashed again only if it stands under another key. */
export function rememberedIds(): ObjectIds {
  const known = new Map<string, { readonly text: string; readonly id: string }>();
  return {
    idOf(key, text) {
      const remembered = known.get(key);
      if (remembered?.text === text) return remembered.id;
      const id = objectId(text);
      known.set(key, { text, id });
      return id;
    },
  };
}

/** Characters of a message that count, and 4 of them are taken for a token. */
const CHARS_A_TOKEN = 4;
const IMAGE_TOKENS = 1200;

/** Tokens of so much text, estimated. */
export const tokensIn = (chars: number) => Math.ceil(chars / CHARS_A_TOKEN);

/** Tokens of a message, estimated: texts, thinking, calls as JSON, images by the piece. */
export const tokensOf = once((message): number => {
  const { role, command = "", output = "", summary = "" } = message;
  if (role === "system" || !isWellFormed(message)) return tokensIn(JSON.stringify(message).length);
  let chars = command.length + output.length + summary.length;
  for (const block of blocksOf(message)) {
    if (block.type === "text") chars += block.text.length;
    else if (block.type === "thinking") chars += block.thinking.length;
    else if (block.type === "toolCall") chars += block.name.length + (JSON.stringify(block.arguments)?.length ?? 0);
    else if (block.type === "image") chars += IMAGE_TOKENS * CHARS_A_TOKEN;
  }
  return tokensIn(chars);
});
