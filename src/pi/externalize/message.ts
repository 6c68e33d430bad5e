import { isDeepStrictEqual } from "node:util";
import * as v from "valibot";
import { memoize } from "../../platform/memoize.ts";

// Pi copies all messages for each request. What is computed of a message is kept with the one on
// the branch that it is a copy of, so that a request costs little more than comparing them.

/**
 * Has something computed once of a message and its copies, as long as it is computed by the same.
 */
export function once<T, By extends readonly unknown[]>(
  compute: (message: PiMessage, ...by: By) => T,
): (message: PiMessage, ...by: By) => T {
  const known = new WeakMap<PiMessage, { readonly by: By; readonly is: T }>();
  return (message, ...by) => {
    const original = originals.get(message) ?? message;
    const last = known.get(original);
    if (last?.by.every((one, n) => one === by[n])) return last.is;
    const is = compute(original, ...by);
    known.set(original, { by, is });
    return is;
  };
}

/**
 * From now on the message counts as a copy of the other one: everything that is looked at is equal
 * in them.
 */
export function isCopyOf(message: PiMessage, original: PiMessage): void {
  if (message !== original) originals.set(message, originals.get(original) ?? original);
}

/**
 * Finds out which messages of a request are copies of those on the branch; the others are read as
 * they are. Copies for earlier requests are forgotten.
 */
export function findCopies(messages: readonly PiMessage[], onBranch: readonly PiMessage[]): void {
  originals = new WeakMap();
  const known = new Map(onBranch.map((message) => [nameOf(message), message]));
  for (const message of messages) {
    const original = known.get(nameOf(message));
    if (original && areEqual(lookedAt(message), lookedAt(original))) isCopyOf(message, original);
  }
}

let originals = new WeakMap<PiMessage, PiMessage>();

/** Values that are nested too deeply to be compared count as different ones. */
function areEqual(one: readonly unknown[], other: readonly unknown[]): boolean {
  try {
    return isDeepStrictEqual(one, other);
  } catch {
    return false;
  }
}

/** A name that hardly two messages share. Those of extensions have another time on the branch. */
function nameOf({ role, toolCallId, timestamp, customType, content }: PiMessage): string {
  const parts = role === "custom" ? [customType, content] : [toolCallId, timestamp];
  return [role, ...parts].map((part) => (typeof part === "object" ? JSON.stringify(part) : part)).join(":");
}

/** Everything of a message that something is computed of, and that its name does not have. */
function lookedAt(message: PiMessage): readonly unknown[] {
  const { content, toolName, stopReason, summary } = message;
  const { command, output, exitCode, cancelled, truncated, fullOutputPath, excludeFromContext } = message;
  const ran = [command, output, exitCode, cancelled, truncated, fullOutputPath, excludeFromContext];
  return [content, toolName, stopReason, summary, ...ran];
}

/** An entry of a Pi session, as far as we look at it. */
export interface BranchEntry {
  readonly type: string;
  readonly id?: string;
  readonly customType?: string;
  readonly data?: unknown;
  readonly message?: unknown;
  /** The content of a message that an extension put there. */
  readonly content?: unknown;
  /** The summary of a branch that was left, or of messages that a compaction took away. */
  readonly summary?: unknown;
  /** A compaction's first entry that is still sent, and its maker's details. */
  readonly firstKeptEntryId?: string;
  readonly tokensBefore?: unknown;
  readonly details?: unknown;
  /** When Pi wrote it, as ISO 8601. */
  readonly timestamp?: unknown;
}

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

/**
 * True if the message is a result that we gave because Pi stopped the call: the real one may
 * follow.
 */
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
 * Tells which call a result answers, although ids come again: a call arms its id, and a result uses
 * it up. A result is that of the first open call with its id in the newest answer that has one.
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

/**
 * The messages with the results that the session lacks. Each follows the assistant's message that
 * made the call, or replaces a result that says that Pi stopped it. If nothing is
 * missing, the given array is returned.
 *
 * @param answers by the keys of their calls
 */
export function withAnswers<M extends PiMessage, Answer>(
  messages: readonly M[],
  answers: ReadonlyMap<string, Answer>,
): readonly (M | Answer)[] {
  if (answers.size === 0) return messages;
  const open = openCalls();
  const instead = new Map<M, Answer>();
  for (const message of messages) {
    const call = open.take(message);
    const answer = call && isStopped(message) ? answers.get(call.key) : undefined;
    if (answer) instead.set(message, answer);
  }
  const lacking = new Set(open.left().map(({ key }) => key));
  return messages.flatMap((message) => {
    const missing = callsOf(message).flatMap(({ key }) => (lacking.has(key) ? (answers.get(key) ?? []) : []));
    return [instead.get(message) ?? message, ...missing];
  });
}
