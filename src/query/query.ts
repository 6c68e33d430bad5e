import * as v from "valibot";
import { type ErrorCode, isErrorCode, type Json, RlmError, readGuestFile, remedy } from "../../runtime/index.ts";

export const SEARCH_STRATEGIES = ["regex", "bm25", "routing", "auto"] as const;
export type SearchStrategy = (typeof SEARCH_STRATEGIES)[number];

/** Options of the search for relevant parts, and the number of parts that are read (default 10, at most 50). */
export interface QueryOptions {
  readonly maxSections?: number | undefined;
  readonly searchStrategy?: SearchStrategy | undefined;
}

const DEFAULT_SECTIONS = 10;
const MAX_SECTIONS = 50;

/** The remedies that a failed query suggests. The library, the command and Pi each have words for them. */
const CURES = {
  moreSections: remedy("moreSections"),
  fewerSections: remedy("fewerSections"),
  moreSubCalls: remedy("moreSubCalls"),
};

/** The cell that answers a question. @throws RlmError `invalid_argument` */
export function queryCell(
  prompt: string,
  { maxSections = DEFAULT_SECTIONS, searchStrategy = "auto" }: QueryOptions,
): string {
  if (prompt.trim() === "") throw refuse("the question is empty", "Ask something.");
  if (!(Number.isInteger(maxSections) && maxSections > 0)) {
    throw refuse(`maxSections is ${maxSections}`, `Pass a whole number from 1 to ${MAX_SECTIONS}.`);
  }
  if (!SEARCH_STRATEGIES.includes(searchStrategy)) {
    throw refuse(`searchStrategy is ${searchStrategy}`, `Pass one of ${SEARCH_STRATEGIES.join(", ")}.`);
  }
  const guest = readGuestFile(new URL("./query.guest.js", import.meta.url)).trimEnd();
  const input = { prompt, max_sections: Math.min(maxSections, MAX_SECTIONS), strategy: searchStrategy, cures: CURES };
  return `const QUERY = ${JSON.stringify(input)};\n${guest}\n`;
}

export const refuse = (what: string, suggestion: string) => new RlmError("invalid_argument", what, { suggestion });

/** The code of a failure; one that this build does not know is told as `sub_agent_error`. */
const Code = v.pipe(
  v.string(),
  v.transform((code): ErrorCode => (isErrorCode(code) ? code : "sub_agent_error")),
);

const Note = v.object({ source: v.string(), note: v.string() });

export interface QueryNote {
  readonly source: string;
  readonly note: string;
}

/** The cell's own end, read leniently: cells of earlier builds gave fewer fields. */
const Result = v.object({
  /** null if there is none. */
  answer: v.fallback(v.nullable(v.string()), null),
  /** The source of each section that was read. */
  sections: v.fallback(v.array(v.string()), []),
  strategy: v.fallback(v.nullable(v.string()), null),
  /** Sections whose sub-call failed. */
  failed: v.fallback(v.number(), 0),
  /** Notes on sections that help. */
  notes: v.fallback(v.array(Note), []),
  /** Each begins with its code. */
  warnings: v.fallback(v.array(v.string()), []),
  /** Why there is no answer. */
  error: v.fallback(
    v.nullable(v.object({ code: Code, name: v.string(), message: v.string(), suggestion: v.string() })),
    null,
  ),
});

/** The cell's result. */
type QueryResult = Readonly<v.InferOutput<typeof Result>>;

/** The cell's result; a cell that gave none has an empty one. */
export function readQueryResult(result: Json): QueryResult {
  return v.parse(Result, typeof result === "object" && result !== null ? result : {});
}
