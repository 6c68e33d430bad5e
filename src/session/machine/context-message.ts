import type { Context, TextData } from "../../context/index.ts";

/** A context on its way to the machine's thread: its text crosses as shared memory. */
export interface ContextMessage extends Omit<Context, "text"> {
  readonly text: TextData;
  /** Folder of search indexes. */
  readonly indexDir: string;
}

export function contextMessage(context: Context, indexDir: string): ContextMessage {
  return { ...context, text: context.text.data, indexDir };
}
