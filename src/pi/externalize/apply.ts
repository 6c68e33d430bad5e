import type { Outside } from "./branch.ts";
import { type FoldMessage, foldMessage } from "./fold.ts";
import { keyOf, type ObjectIds, resultKey } from "./keys.ts";
import { type Call, callsOf, openCalls, type PiMessage } from "./message.ts";
import { stubbed } from "./stub.ts";

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

/** Each message with what becomes of it, in their order: a pure function of the messages and the branch. */
export function fates<M extends PiMessage>(
  messages: readonly M[],
  outside: Outside,
  ids: ObjectIds,
): readonly Fate<M>[] {
  const seen = new Map<string, number>();
  const open = openCalls();
  /** Which one of its id each call is: a result has the number of its call, since calls before it may have none. */
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

/** The messages that are sent: those that are outside are stubs, and folded ones are one message. */
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

/** Messages that stand for others, with the keys of those: they are not taken for messages of Pi. */
const made = new WeakMap<PiMessage, readonly string[]>();
