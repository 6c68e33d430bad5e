import type { Outside } from "./branch.ts";
import type { EpochEntry } from "./entries.ts";
import { keyOf, type ObjectIds, objectText, resultKey, tokensIn } from "./keys.ts";
import { type Call, callsOf, openCalls, type PiMessage } from "./message.ts";
import { objectLine, ownText, plain, stubbed } from "./stub.ts";

/** The fate of one message. */
export interface Fate<M extends PiMessage = PiMessage> {
  readonly message: M;
  /** null: it is never touched. */
  readonly key: string | null;
  /** The call whose result it is. */
  readonly call: Call | undefined;
  /** `raw`: it is sent as it is. */
  readonly is: "raw" | "stub" | "folded";
  /** The message that is sent in its place; folded messages have one message together. */
  readonly sent: M;
}

/**
 * Each message with what becomes of it, in their order: a pure function of the messages and the
 * branch.
 */
export function fates<M extends PiMessage>(
  messages: readonly M[],
  outside: Outside,
  ids: ObjectIds,
): readonly Fate<M>[] {
  const seen = new Map<string, number>();
  const open = openCalls();
  /**
   * Which one of its id each call is: a result has the number of its call, since calls before it
   * may have none.
   */
  const numbers = new Map<Call, number>();
  const count = (key: string) => {
    const n = seen.get(key) ?? outside.gone(key);
    seen.set(key, n + 1);
    return n;
  };
  return messages.map((message): Fate<M> => {
    for (const call of callsOf(message)) numbers.set(call, count(resultKey(call.id)));
    const call = open.take(message);
    const key = keyOf(message);
    const raw = { message, key, call, is: "raw", sent: message } as const;
    const standsFor = made.get(message);
    if (standsFor && !call) standsFor.forEach(count);
    if (standsFor || key === null) return raw;
    const n = (call && numbers.get(call)) ?? count(key);
    if (outside.isFolded(key, n)) return { ...raw, is: "folded" };
    const bounds = outside.stubBounds(key, n);
    const stub = bounds.length > 0 ? stubbed(message, bounds, { key, call, ids }) : null;
    if (!stub) return raw;
    made.set(stub, [key]);
    return { ...raw, is: "stub", sent: stub };
  });
}

/**
 * The messages that are sent: those that are outside are stubs, and folded ones are one message.
 */
export function sentOf<M extends PiMessage>(
  all: readonly Fate<M>[],
  { fold }: Outside,
  ids: ObjectIds,
): readonly (M | FoldMessage)[] {
  const folded = all.filter(({ is }) => is === "folded");
  const [first] = folded;
  if (!first || !fold) return all.map(({ sent }) => sent);
  const stands = foldMessage(folded, fold, ids);
  made.set(
    stands,
    folded.map(({ key }) => key ?? ""),
  );
  return all.flatMap((one): readonly (M | FoldMessage)[] => {
    if (one === first) return [stands];
    return one.is === "folded" ? [] : [one.sent];
  });
}

/** The messages as they are sent. */
export function applyOutside<M extends PiMessage>(
  messages: readonly M[],
  outside: Outside,
  ids: ObjectIds,
): readonly (M | FoldMessage)[] {
  return sentOf(fates(messages, outside, ids), outside, ids);
}

/**
 * Messages that stand for others, with the keys of those: they are not taken for messages of Pi.
 */
const made = new WeakMap<PiMessage, readonly string[]>();

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

/**
 * The message that replaces these: their prompts and objects, the newest first. Nothing else enters
 * it.
 */
function foldMessage(folded: readonly Folded[], by: ListBounds, ids: ObjectIds): FoldMessage {
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
