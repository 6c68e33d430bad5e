import { argumentError, firstly, type Json, RlmError } from "../runtime/index.ts";

/** A place of P: UTF-16 units, `start` below `end`. */
export type Range = readonly [start: number, end: number];

/**
 * The context that a call gives to its model: a text, parts of P or of the history (sorted, apart
 * from each other), or all of P.
 */
export type ChildContext =
  | { readonly text: string }
  | { readonly ranges: readonly Range[]; readonly of?: "history" }
  | { readonly whole: true };

/** A document of the context; offsets are UTF-16 units of P. */
export interface DocumentEntry {
  readonly id: string;
  readonly path: string;
  readonly size: number;
  readonly start: number;
  readonly end: number;
  /** Present if the document became text when it was loaded. */
  readonly original?: { readonly kind: string };
  readonly places?: readonly (readonly [unit: number, label: string, firstRow?: number])[];
  /** Present if a later append found the file changed. */
  readonly replaced_by?: string;
}

/**
 * The place of an offset: its document with its range in P, and line and column in the document,
 * from 1.
 */
interface PlaceEntry extends Pick<DocumentEntry, "id" | "start" | "end"> {
  readonly line: number;
  /** UTF-16 units. */
  readonly column: number;
  /** The page, slide, cell or row of a document that was converted. */
  readonly place: string | null;
}

/** A chunk that a search has found; offsets are UTF-16 units of P. */
interface ChunkEntry {
  readonly text: string;
  readonly score: number;
  readonly start: number;
  readonly end: number;
  /** The beginning of the line in it that has most of the query's words. */
  readonly at: number;
}

/**
 * Notes what an exec looks at, for its coverage. What `slice` and `search` give is noted by itself.
 */
export interface CoverageNotes {
  /** The cell has the whole of P. */
  whole(): void;
  matched(ranges: readonly Range[]): void;
  /** A model is given a prompt, and perhaps a context of its own. */
  sent(given: { readonly prompt: string; readonly context?: ChildContext }): void;
}

/** Reads the loaded context for builtins. All offsets are UTF-16 units of P. */
export interface ContextServices {
  readonly hash: string;
  readonly sources: readonly string[];
  /** Facts about its documents that were converted, by their wire names; null: there are none. */
  readonly converted: Json;
  /** Files of its sources that are not in it, by their wire names. */
  readonly skipped: Json;
  readonly length: number;
  readonly lines: number;
  readonly documents: Iterable<DocumentEntry> & { readonly length: number };
  documentNamed(id: string): DocumentEntry | undefined;
  /** The first document that does not end before an offset. */
  documentFrom(offset: number): DocumentEntry | undefined;
  /** Documents whose ids begin so, in their order. */
  documentsBegunWith(prefix: string): {
    readonly length: number;
    slice(from: number, to: number): readonly DocumentEntry[];
  };
  /** @throws RlmError for more of a large P than a cell could hold */
  slice(start: number, end: number): string;
  /** True if P is too large to be a string of the guest. */
  readonly isLarge: boolean;
  /** P as UTF-8. @throws RlmError if it is too large for the guest */
  utf8(): Uint8Array;
  /**
   * The first place of a part in a large P at or after an offset; -1: none.
   *
   * @param between is called again and again meanwhile, and may throw to end it
   */
  indexOf(part: string, from: number, between: () => void): number;
  /**
   * The first matches of a pattern; `capped` if there are more.
   *
   * @param between is called again and again while the text is searched, and may throw to end the
   * search
   * @throws RlmError for a pattern that the dialect does not know
   */
  find(pattern: string, flags: string, limit: number, between: () => void): { matches: Range[]; capped: boolean };
  /** The number of all matches; else as `find`. */
  count(pattern: string, flags: string, between: () => void): number;
  /** Counts the lines of P, unless that is done. */
  prepareLines(): void;
  /**
   * Between two documents: the beginning of the one that follows. null behind the last document.
   */
  place(offset: number): PlaceEntry | null;
  /** The line that holds an offset, without its end; of a long one about 200 units. */
  lineText(offset: number): string;
  /**
   * Makes the search index if it is missing.
   *
   * @param between is called again and again meanwhile, and may throw to end it: what is done is
   * kept
   */
  prepareSearch(onProgress: (fraction: number) => void, between: () => void): void;
  search(query: string, k: number): readonly ChunkEntry[];
  readonly coverage: CoverageNotes;
  routes(
    topic: string,
    limit: number,
  ): readonly {
    readonly path: string;
    readonly description: string;
    readonly relevance: number;
    readonly label: string;
  }[];
}

/** Reads the conversation for builtins. Offsets are UTF-16 units of its text. */
export interface HistoryServices extends ContextServices {
  /** Id of the object that the document with this id is. */
  objectOf(document: Json | undefined): string;
  /**
   * Id of the document that an object is, by any beginning of its id; undefined if there is none.
   * @throws RlmError `object_ambiguous`
   */
  documentOf(object: string): string | undefined;
}

/** A function that the program lends to cells. */
export interface FunctionFacts {
  readonly name: string;
  /** A sentence for models. */
  readonly description: string;
  /** JSON Schema of its argument. */
  readonly parameters: Json;
  /**
   * The effects of a run outside. A call that was in flight when the process ended is run again
   * with `none` and `idempotent`; with `once` it rejects with `process_restarted`.
   */
  readonly effects: "none" | "idempotent" | "once";
}

export interface Services {
  /** The functions that the program lends; none in most sessions. */
  functions(): readonly FunctionFacts[];
  /**
   * The conversation in which the exec runs.
   *
   * @throws RlmError `context_not_loaded`, `context_lost`
   */
  history(): HistoryServices;
  /** @throws RlmError `context_not_loaded` */
  context(): ContextServices;
  loaded(): ContextServices | undefined;
}

/** For `history` where no conversation is kept. */
export function noConversation(): RlmError {
  return new RlmError("context_not_loaded", "there is no conversation here", {
    suggestion: "Use it inside Pi; elsewhere load texts as a context.",
  });
}

/** For what needs all of P in the guest. @param what the guest's words for it */
export function tooLargeForP(length: number, what = "P as a string"): RlmError {
  const isContext = what === CONTEXT_OPTION;
  return argumentError(
    "RangeError",
    `${what} would copy ${manyCharacters(length)} into the cell`,
    isContext ? "Pass places of P: [0, P.length] is all of it." : BY_WINDOWS,
  );
}

const CONTEXT_OPTION = "context: P";
const BY_WINDOWS =
  "Use find, count, search, peek(start, end) or list_docs and peek_doc; P.length, P.slice, P.indexOf and P[i] work as well.";

/** `1066 million characters` */
export function manyCharacters(count: number): string {
  const many = count < 1e6 ? count.toLocaleString("en-US") : `${(count / 1e6).toFixed(0)} million`;
  return `${many} characters`;
}

/** For builtins that need a context if none is loaded. */
export function contextNotLoaded(): RlmError {
  return new RlmError("context_not_loaded", "no context is loaded", {
    suggestion: `${firstly("load")}.`,
  });
}
