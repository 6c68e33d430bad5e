import { onlyText, type PiMessage } from "../externalize/message.ts";

export interface Sent {
  /** The messages of a request, as Belay leaves them. */
  requested(next: readonly PiMessage[]): void;
  /**
   * Takes the final payload to the provider: other extensions may have taken texts out behind
   * Belay.
   */
  posted(payload: unknown): void;
  /** True if this process has made a request. */
  hasAsked(): boolean;
  /** True if the model has this text as the result of this call. */
  has(call: string, text: string): boolean;
}

/**
 * The texts that the model had when it made its newest calls. Messages and payload are kept by
 * reference, and read when asked for.
 */
export function openSent(): Sent {
  let messages: readonly PiMessage[] | null = null;
  /**
   * null: nothing was posted since, as by a provider of an extension's own; the messages decide
   * alone.
   */
  let strings: (() => readonly string[]) | null = null;
  return {
    requested(next) {
      messages = next;
      strings = null;
    },
    posted(payload) {
      let found: readonly string[] | undefined;
      strings = () => {
        found ??= stringsIn(payload);
        return found;
      };
    },
    hasAsked: () => messages !== null,
    has(call, text) {
      const isThere = messages?.some(
        (message) => message.role === "toolResult" && message.toolCallId === call && onlyText(message) === text,
      );
      return isThere === true && (strings === null || strings().some((string) => string.includes(text)));
    },
  };
}

/** Every string of a payload; each object is looked into once. */
function stringsIn(payload: unknown): readonly string[] {
  const strings: string[] = [];
  const seen = new Set<object>();
  const open: unknown[] = [payload];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === "string") strings.push(value);
    else if (typeof value === "object" && value !== null && !seen.has(value)) {
      seen.add(value);
      for (const inner of Object.values(value)) open.push(inner);
    }
  }
  return strings;
}
