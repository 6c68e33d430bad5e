import type { AssistantMessage, AssistantMessageEvent } from "belay-pi-ai";

/** The state of an answer that the server ended without a reason: broken off, or cut at the token limit. */
export type Unfinished = "broken" | "length";

/**
 * pi-ai 0.73 takes the end of a stream for the end of the answer in these protocols, with or without a finish reason.
 * In the Responses API an answer that reached its token limit ends with an event that pi-ai skips. Mistral's SDK may have
 * read the first event before the stream begins here: then nothing is watched.
 */
const UNCHECKED: Readonly<Record<string, Unfinished>> = {
  "openai-completions": "broken",
  "mistral-conversations": "broken",
  "google-generative-ai": "broken",
  "google-vertex": "broken",
  "openai-responses": "length",
  "azure-openai-responses": "length",
};

/** Facts that the events of an answer tell beside its message. Its functions are asked once the message is there. */
export interface WatchedReply {
  /** null: the provider told a stop reason, or pi-ai checks that itself. */
  unfinished(message: AssistantMessage): Unfinished | null;
  /**
   * Resolves with the arguments of tool calls as they were sent, by the place of the call in the message. Older copies of
   * pi-ai complete the ones that end too early.
   */
  argumentTexts(): Promise<ReadonlyMap<number, string>>;
}

/**
 * Watches whether the provider tells a stop reason: the message of the stream's first event is the one that grows into the
 * answer, and pi-ai sets its `stopReason`, which begins as "stop", when the reason comes.
 *
 * @param begun called with each event of the answer
 */
export function watchReply(
  api: string,
  stream: AsyncIterable<AssistantMessageEvent>,
  begun: () => void = () => {},
): WatchedReply {
  const unfinished = UNCHECKED[api];
  const texts = new Map<number, string>();
  let told = true;
  const begin = (message: AssistantMessage) => {
    if (message.content.length > 0 || message.responseId !== undefined) return;
    told = false;
    let reason = message.stopReason;
    Object.defineProperty(message, "stopReason", {
      ...ORDINARY,
      get: () => reason,
      set: (value: AssistantMessage["stopReason"]) => {
        told = true;
        reason = value;
      },
    });
  };
  const end = (async () => {
    for await (const event of stream) {
      if (event.type === "start" && unfinished !== undefined) begin(event.partial);
      if (event.type === "done" || event.type === "error") break;
      if (event.type !== "start") begun();
      if (event.type !== "toolcall_delta") continue;
      texts.set(event.contentIndex, (texts.get(event.contentIndex) ?? "") + event.delta);
    }
    return texts;
  })();
  return {
    argumentTexts: () => end,
    unfinished(message) {
      const { stopReason } = message;
      Object.defineProperty(message, "stopReason", { ...ORDINARY, value: stopReason, writable: true });
      return told ? null : (unfinished ?? null);
    },
  };
}

const ORDINARY = { enumerable: true, configurable: true };
