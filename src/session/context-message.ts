import type { Context } from "../context/context.ts";
import type { TextData } from "../context/text.ts";

/** A context on its way to the machine's worker: its text crosses as shared memory. */
export interface ContextMessage extends Omit<Context, "text"> {
  readonly text: TextData;
  /** Folder of search indexes. */
  readonly indexDir: string;
}

export function contextMessage(context: Context, indexDir: string): ContextMessage {
  return { ...context, text: context.text.data, indexDir };
}
