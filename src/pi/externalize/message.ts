import * as v from "valibot";
import { memoize } from "../../platform/memoize.ts";
import type { BranchEntry } from "../branch/entries.ts";
import { once } from "./copies.ts";

/** A message of Pi, as far as it is looked at. `timestamp`: ms since the epoch. */
export type PiMessage = Readonly<v.InferOutput<typeof MessageSchema>> & {
  readonly content?: unknown;
  readonly exitCode?: unknown;
  readonly cancelled?: unknown;
  readonly truncated?: unknown;
  readonly fullOutputPath?: unknown;
  readonly excludeFromContext?: unknown;
  readonly usage?: unknown;
};

/** A call of a tool in an assistant's message. */
export interface Call {
  /** Its provider's: some servers give one id to all calls, or an empty one. */
  readonly id: string;
  /** Tells it from every other call of the branch. */
  readonly key: string;
  readonly name: string;
  readonly args: unknown;
}

/** The blocks of a message. */
export const blocksOf = once(
  ({ content }): v.InferOutput<typeof ContentSchema> =>
    typeof content === "string" ? [{ type: "text", text: content }] : v.parse(ContentSchema, content),
);

/** The text of a message that is one text and nothing else; null for others. */
export function onlyText(message: PiMessage): string | null {
  const [block, ...others] = blocksOf(message);
  return block?.type === "text" && others.length === 0 ? block.text : null;
}

/** True if the assistant's answer broke off: Pi runs no calls of it. */
export function brokeOff({ role, stopReason }: PiMessage): boolean {
  return role === "assistant" && (stopReason === "error" || stopReason === "aborted");
}

/** True if an answer failed or was stopped before it said anything. */
export function isEmptyFailure(message: PiMessage): boolean {
  return brokeOff(message) && (!Array.isArray(message.content) || message.content.length === 0);
}

/** True if the message is a result that we gave because Pi stopped the call: the real one may follow. */
export const isStopped = once((message) => v.is(StoppedSchema, message));

const StoppedSchema = v.object({
  role: v.literal("toolResult"),
  details: v.object({ stopped: v.literal(true) }),
});

/** Calls of tools in a message that have, or will have, a result. */
export const callsOf = once((message): readonly Call[] => {
  if (message.role !== "assistant" || brokeOff(message)) return [];
  const calls = blocksOf(message).filter((block) => block.type === "toolCall");
  const { timestamp = "" } = message;
  return calls.map(({ id, name, arguments: args }, n) => ({ id, key: `${timestamp}:${n}:${id}`, name, args }));
});

/**
 * Tells which call a result answers, although ids come again: a call arms its id, and a result uses it up. A result is that
 * of the first open call with its id in the newest answer that has one.
 */
export function openCalls() {
  /** Those of each id: answers in their order, with the calls of each. */
  const open = new Map<string, Call[][]>();
  return {
    /** The call with this id that the next result would answer. */
    next: (id: string): Call | undefined => open.get(id)?.at(-1)?.[0],
    /** Takes the next message of the branch; returns the call that it answers. */
    take(message: PiMessage): Call | undefined {
      for (const [id, calls] of Map.groupBy(callsOf(message), (call) => call.id)) {
        const earlier = open.get(id);
        if (earlier) earlier.push(calls);
        else open.set(id, [calls]);
      }
      const answers = message.role === "toolResult" ? open.get(message.toolCallId ?? "") : undefined;
      const answered = answers?.at(-1)?.shift();
      if (answers?.at(-1)?.length === 0) answers.pop();
      return answered;
    },
    /** Those that have none. */
    left: (): readonly Call[] => [...open.values()].flat(2),
  };
}

/** A message that an entry of Pi's branch holds; null for entries of other kinds. */
export const messageOf = memoize((entry: BranchEntry): PiMessage | null => {
  if (entry.type === "custom_message") {
    const { customType = "", content } = entry;
    return { role: "custom", customType, content };
  }
  if (entry.type !== "message") return null;
  return v.is(MessageSchema, entry.message) ? entry.message : null;
});

/** The messages that entries of Pi's branch hold, in their order. */
export function messagesOf(entries: readonly BranchEntry[]): readonly PiMessage[] {
  return entries.flatMap((entry) => messageOf(entry) ?? []);
}

/** True if the fields of the message are of the types that Pi gives them. */
export const isWellFormed = once((message): boolean => v.is(MessageSchema, message));

const text = v.string();

/** A part of a message's content. What is of another shape is `other`. */
const BlockSchema = v.fallback(
  v.variant("type", [
    v.object({ type: v.literal("text"), text }),
    v.object({ type: v.literal("toolCall"), id: text, name: text, arguments: v.unknown() }),
    v.object({ type: v.literal("image") }),
    v.object({ type: v.literal("thinking"), thinking: text }),
    v.object({ type: v.literal("other") }),
  ]),
  { type: "other" },
);

const ContentSchema = v.fallback(v.array(BlockSchema), []);

const optional = <S extends v.GenericSchema>(schema: S) => v.exactOptional(schema);

/** A message of any kind; a field of another type than Pi's makes it none. */
const MessageSchema = v.object({
  role: text,
  timestamp: optional(v.number()),
  toolCallId: optional(text),
  toolName: optional(text),
  customType: optional(text),
  command: optional(text),
  output: optional(text),
  summary: optional(text),
  stopReason: optional(text),
  provider: optional(text),
  model: optional(text),
});
