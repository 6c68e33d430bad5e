import { type ObjectIds, objectText, tokensIn } from "./keys.ts";
import { blocksOf, type Call, isCopyOf, once, type PiMessage } from "./message.ts";

import type { StubBounds } from "./stub-bounds.ts";

// The first version of stubs. What it writes stands in requests that providers keep, and must never
// change: another way of writing gets another `v` in the entries, and this one stays.

/** The parts of a stub, beside the message. */
interface StubParts {
  readonly key: string;
  /** The call whose result it is. */
  readonly call: Call | undefined;
  readonly ids: ObjectIds;
}

/** The message with a stub instead of its text; null if it stays as it is. */
export function stubbed<M extends PiMessage>(message: M, bounds: readonly StubBounds[], parts: StubParts): M | null {
  if (!isStubbable(message)) return null;
  const tokens = tokensIn(ownText(message).length);
  const fitting = bounds.find(({ min }) => tokens >= min);
  const text = fitting ? stubText(message, fitting.preview, parts.key, parts.call, parts.ids) : null;
  if (text === null) return null;
  const stub = withText(message, text);
  isCopyOf(stub, oneStub(message, text));
  return stub;
}

/** The stub whose copies all stubs of the message with this text are. */
const oneStub = once((message, text: string): PiMessage => withText(message, text));

/**
 * True if a text of the message may go out. An answer with calls or thinking is sent as the
 * provider made it.
 */
function isStubbable(message: PiMessage): boolean {
  const { role } = message;
  if (role === "assistant") return blocksOf(message).every(({ type }) => type === "text");
  return role === "toolResult" || role === "user" || role === "custom" || role === "bashExecution";
}

/** The text that a stub replaces. */
export const ownText = once((message): string => {
  if (message.role === "bashExecution") return message.output ?? "";
  return blocksOf(message)
    .flatMap((block) => (block.type === "text" ? [block.text] : []))
    .join("\n");
});

/** `rlm-obj-a1b2c3d4e5f6 | file | 2340 tokens | read src/auth.ts — 212 lines`. */
export function objectLine(message: PiMessage, parts: StubParts): string {
  const { id, kind, tokens, description } = describedObject(message, parts);
  return `${id} | ${kind} | ${tokens} tokens | ${description}`;
}

/** The description of the object that a message is. */
export function describedObject(message: PiMessage, { key, call, ids }: StubParts) {
  const text = objectText(message) ?? "";
  const id = ids.idOf(key, text);
  const kind = kindOf(message);
  const tokens = tokensIn(text.length);
  return { id, kind, tokens, description: describe(message, call) };
}

/** The kind and name of the object, in at most 80 characters that cannot be read as a stub. */
const describe = once((message, call: Call | undefined): string => {
  const { role, toolName, command, customType } = message;
  const text = ownText(message);
  const named = role === "toolResult" ? `${toolName ?? "tool"}${argumentOf(call)}` : null;
  if (named !== null && argumentOf(call) !== "") return withLines(named, text);
  if (role === "bashExecution") return withLines(`ran ${command ?? ""}`, text);
  return plain(`${named ?? customType ?? role}: ${firstLine(text)}`, MOST_UNITS);
});

/** A text without what stubs and lines are made of, cut to so many UTF-16 units. */
export function plain(text: string, units: number): string {
  const clean = text
    .slice(0, units * 4)
    .toWellFormed()
    .replaceAll(UNFIT, " ")
    .replaceAll(/ +/g, " ")
    .trim();
  return clean.length <= units ? clean : `${cutAt(clean, units - 1)}…`;
}

const MOST_UNITS = 80;
/** Control characters, line ends of any kind, and the marks of a stub. */
const UNFIT = /[\p{Cc}\p{Zl}\p{Zp}[\]|]/gu;

/** null if the stub would not be shorter than the text. */
const stubText = once(
  (message, preview: StubBounds["preview"], key: string, call: Call | undefined, ids: ObjectIds): string | null => {
    const whole = objectText(message);
    if (whole === null) return null;
    const text = textOfStub(message, whole, preview, { key, call, ids });
    return text.length < ownText(message).length ? text : null;
  },
);

function textOfStub(message: PiMessage, whole: string, preview: StubBounds["preview"], parts: StubParts): string {
  const head = `[RLM externalized: ${objectLine(message, parts)}]`;
  const id = parts.ids.idOf(parts.key, whole);
  const view = `Use rlm_peek("${id}") to view, or rlm_search to find specific content.`;
  if (preview === null) return `${head}\n${view}`;
  const shown = cutAt(whole, preview);
  const on = `Read on with rlm_peek("${id}", ${shown.length}), or use rlm_search to find specific content.`;
  return `${head}\n${shown.toWellFormed()}\n…\n${on}`;
}

/** Texts that were read from files. */
const READERS = ["read", "rlm_load", "rlm_load_append", "rlm_ingest"];

function kindOf({ role, toolName = "" }: PiMessage): string {
  if (toolName === "rlm_extract") return "artifact";
  if (READERS.includes(toolName)) return "file";
  return role === "toolResult" || role === "bashExecution" ? "tool_output" : "conversation";
}

/** The argument that tells most of a call: a path or a command. */
function argumentOf(call: Call | undefined): string {
  const args = new Map(Object.entries(Object(call?.args)));
  for (const name of ["path", "file_path", "paths", "command"]) {
    const value = args.get(name);
    const first: unknown = Array.isArray(value) ? value[0] : value;
    if (typeof first === "string" && first.trim() !== "") return ` ${first}`;
  }
  return "";
}

/** The name, cut so that the count of lines has room. */
function withLines(name: string, text: string): string {
  let count = text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  const lines = ` — ${count} ${count === 1 ? "line" : "lines"}`;
  return `${plain(name, MOST_UNITS - lines.length)}${lines}`;
}

const firstLine = (text: string) => /\S[^\r\n]*/.exec(text)?.[0] ?? "";

/** The beginning of a text; a pair of surrogates is not divided. */
function cutAt(text: string, units: number): string {
  const isDivided = /[\uD800-\uDBFF]/.test(text[units - 1] ?? "") && /[\uDC00-\uDFFF]/.test(text[units] ?? "");
  return text.slice(0, isDivided ? units - 1 : units);
}

function withText<M extends PiMessage>(message: M, text: string): M {
  if (message.role === "bashExecution") return { ...message, output: text };
  const { content } = message;
  if (!Array.isArray(content)) return { ...message, content: text };
  const blocks = blocksOf(message);
  const first = blocks.findIndex(({ type }) => type === "text");
  const kept = content.flatMap((part: unknown, n) => {
    if (n === first) return [{ type: "text", text }];
    return blocks[n]?.type === "text" ? [] : [part];
  });
  return { ...message, content: kept };
}
