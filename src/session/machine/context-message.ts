import type { Context, TextData } from "../../context/index.ts";

/** The message to the machine's thread: the session's context, or the conversation in which the next exec runs. */
export type ContextMessage = TextMessage | { readonly history: HistoryText | null };

/** A context on its way to the machine's thread: its text crosses as shared memory. */
export interface TextMessage extends Omit<Context, "text"> {
  readonly text: TextData;
  /** Folder of search indexes. */
  readonly indexDir: string;
}

/** A conversation with the ids of its objects, document by document. `lost` says why its text is not there. */
export type HistoryText =
  | { readonly lost: string }
  | { readonly message: TextMessage; readonly objects: readonly string[] };

export function contextMessage(context: Context, indexDir: string): TextMessage {
  return { ...context, text: context.text.data, indexDir };
}
