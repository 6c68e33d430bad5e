import { isDeepStrictEqual } from "node:util";
import type { PiMessage } from "./message.ts";

// Pi copies all messages for each request. What is computed of a message is kept with the one on the branch that it is a
// copy of, so that a request costs little more than comparing them.

/** Has something computed once of a message and its copies, as long as it is computed by the same. */
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

/** From now on the message counts as a copy of the other one: everything that is looked at is equal in them. */
export function isCopyOf(message: PiMessage, original: PiMessage): void {
  if (message !== original) originals.set(message, originals.get(original) ?? original);
}

/**
 * Finds out which messages of a request are copies of those on the branch; the others are read as they are. Copies for
 * earlier requests are forgotten.
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
