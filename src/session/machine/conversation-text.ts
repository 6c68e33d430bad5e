import { type Context, objectOf, pauses } from "../../context/index.ts";
import type { HistoryText, TextMessage } from "./context-message.ts";

/** The conversation in which an exec runs, or why it is not there any more. */
export type GivenHistory = Context | { readonly lost: string };

/** @param messageOf the context as a machine's thread takes it */
export async function historyText(
  history: GivenHistory,
  messageOf: (context: Context) => Promise<TextMessage>,
): Promise<HistoryText> {
  if ("lost" in history) return history;
  const objects: string[] = [];
  const pause = pauses();
  for (const document of history.documents) {
    const { id } = await objectOf({ of: "history", context: history, document }, pause);
    objects.push(id);
  }
  return { message: await messageOf(history), objects };
}
