import type { FunctionFacts } from "../../../builtins/index.ts";
import type { Context, Document, TextData } from "../../context/index.ts";

/** The message to the machine's thread: the context, the conversation in which the next exec runs, or the functions that are lent. */
export type ContextMessage =
  | TextMessage
  | { readonly history: HistoryText | null }
  | { readonly functions: readonly FunctionFacts[] };

/** A context on its way to the machine's thread: its text crosses as shared memory. */
export interface TextMessage extends Omit<Context, "text" | "documents"> {
  readonly text: TextData;
  /** Those of a text in memory: a large one has them in its table. */
  readonly documents: readonly Document[];
  /** Folder of search indexes. */
  readonly indexDir: string;
  /** Bytes that the index of a large context may have; absent: as many as its text. */
  readonly indexRoom?: number;
  /** Packed ranges of it that cells were given on other machines. */
  readonly given?: readonly string[];
}

/** A conversation with the ids of its objects, document by document. `lost` says why its text is not there. */
export type HistoryText =
  | { readonly lost: string }
  | { readonly message: TextMessage; readonly objects: readonly string[] };

/** The conversation in which an exec runs, or why it is not there any more. */
export type GivenHistory = Context | { readonly lost: string };
